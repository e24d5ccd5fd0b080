import ArgumentParser
import FeatureFlags
import HabitStoreRollout
import HabitTracking

/// `habitstore flags lint FILE…`.
struct FlagsLintCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "Finds in flag files what their author would not have wanted.",
        discussion: """
            One line for each finding: file:line:column: error or warning: what is wrong [rule].
            Exit code 0: no errors; 1: errors, with --strict warnings too; 65: a file that cannot be parsed.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The flag files, JSON or YAML.")
    var files: [String]

    @Option(help: "The version of the file that is in force, to look at the change from it too.")
    var against: String?

    @Flag(help: "Let warnings count as errors in the exit code.")
    var strict = false

    func validate() throws {
        guard against == nil || files.count == 1 else {
            throw ValidationError("--against compares one file with its old version; name one file")
        }
    }

    func run() async throws {
        let reports = try files.map { try RolloutFlags.linter.lint(path: $0, against: against) }
        switch output.format {
        case .json: try JSON.write(json(reports))
        case .text: try Output.write(reports.map(text).joined())
        }
        if reports.contains(where: { !$0.isReadable }) { throw ExitCode(ExitStatus.data.rawValue) }
        let counts = reports.contains { strict ? !$0.findings.isEmpty : $0.hasErrors }
        if counts { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func text(_ report: LintReport) -> String {
        guard !report.findings.isEmpty else { return TerminalText.escaped(report.source) + ": nothing found\n" }
        return report.findings.map { TerminalText.escaped($0.description) + "\n" }.joined()
    }

    private func json(_ reports: [LintReport]) -> JSON {
        let findings = reports.flatMap(\.findings)
        return .object([
            "errors": .int(findings.count { $0.severity == .error }),
            "warnings": .int(findings.count { $0.severity == .warning }),
            "files": .array(
                reports.map { report in
                    .object([
                        "file": .string(report.source),
                        "isReadable": .bool(report.isReadable),
                        "findings": .array(report.findings.map(\.json)),
                    ])
                }
            ),
        ])
    }
}
