import ArgumentParser
import FeatureFlags
import FlagTools
import HabitStoreReports
import HabitStoreRollout

/// `habitstore flags lint FILE…`.
struct FlagsLintCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "Finds mistakes in flag files.",
        discussion: """
            One line for each finding: file:line:column: error or warning: what is wrong [rule].
            Exit code 0: no errors; 1: errors, or warnings with --strict; 65: a file from which no flag can be \
            evaluated; 74: a file that cannot be read. All files are checked, even if one is wrong.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The flag files, JSON or YAML.")
    var files: [String]

    @Option(help: "The version of the file that is in force, to check the change from it as well.")
    var against: String?

    @Flag(help: "Count warnings as errors in the exit code.")
    var strict = false

    func validate() throws {
        guard against == nil || files.count == 1 else {
            throw ValidationError("--against compares one file with its old version; name one file")
        }
    }

    func run() async throws {
        let linter = await RolloutFlags.linter()
        let results = files.map { path in
            Result { () throws(FlagError) in try linter.lint(path: path, against: against) }
        }
        switch output.format {
        case .json: try JSON.write(json(results))
        case .text: try Output.write(results.compactMap(Self.report).map(text).joined())
        }
        let failures = results.compactMap { if case .failure(let error) = $0 { error } else { nil } }
        if output.format == .text {
            for failure in failures { StandardError.write(ErrorReport(failure, showsDetail: false).text) }
        }
        if let status = status(results) { throw ExitCode(status.rawValue) }
    }

    /// The status to exit with: of several, the one that says most about what was not linted.
    private func status(_ results: [Result<LintReport, FlagError>]) -> ExitStatus? {
        var statuses: [ExitStatus] = []
        for result in results {
            switch result {
            case .failure(let error): statuses.append(ErrorReport(error, showsDetail: false).status)
            case .success(let report):
                if !report.isReadable {
                    statuses.append(.data)
                } else if strict ? !report.findings.isEmpty : report.hasErrors {
                    statuses.append(.different)
                }
            }
        }
        return statuses.max { $0.rawValue < $1.rawValue }
    }

    private static func report(_ result: Result<LintReport, FlagError>) -> LintReport? {
        if case .success(let report) = result { report } else { nil }
    }

    private func text(_ report: LintReport) -> String {
        guard !report.findings.isEmpty else { return TerminalText.escaped(report.source) + ": nothing found\n" }
        return report.findings.map { TerminalText.escaped($0.description) + "\n" }.joined()
    }

    private func json(_ results: [Result<LintReport, FlagError>]) -> JSON {
        let findings = results.compactMap(Self.report).flatMap(\.findings)
        let entries = zip(files, results).map { path, result -> JSON in
            switch result {
            case .success(let report):
                .object([
                    "file": .string(report.source),
                    "isReadable": .bool(report.isReadable),
                    "findings": .array(report.findings.map(\.json)),
                    "error": .null,
                ])
            case .failure(let error):
                .object([
                    "file": .string(path),
                    "isReadable": .bool(false),
                    "findings": .array([]),
                    "error": ErrorReport(error, showsDetail: false).json,
                ])
            }
        }
        return .object([
            "errors": .int(findings.count { $0.severity == .error }),
            "warnings": .int(findings.count { $0.severity == .warning }),
            "files": .array(entries),
        ])
    }
}
