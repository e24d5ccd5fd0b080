import ArgumentParser
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreReports
import HabitStoreRollout

/// `habitstore schema lint --cloudkit [FILE]`.
struct SchemaLintCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "Finds what keeps a schema from being mirrored to CloudKit.",
        discussion: """
            Unique constraints, attributes that are not optional and have no default, relationships that are not optional, \
            have no inverse, are ordered, or have the delete rule deny; one line for each, with entity and property.
            Exit code 0: nothing found; 1: something found.
            """
    )

    @OptionGroup var output: OutputOptions

    @Flag(help: "Apply CloudKit's rules, the only ones so far.")
    var cloudkit = false

    @Argument(help: "A store, or a Core Data or SwiftData file; without one, the schema that ships.")
    var file: String?

    func validate() throws {
        guard cloudkit else { throw ValidationError("name the rules: --cloudkit") }
    }

    func run() async throws {
        let (title, findings) = try lint()
        switch output.format {
        case .json:
            let list = findings.map { finding in
                JSON.object([
                    "rule": .string(finding.rule.rawValue), "entity": .string(finding.entity),
                    "properties": .array(finding.properties.map { .string($0) }),
                    "message": .string(finding.description),
                ])
            }
            try JSON.write(
                JSON.object(["schema": .string(title), "count": .int(findings.count), "findings": .array(list)])
            )
        case .text:
            let lines = findings.map { TerminalText.escaped("\($0) [\($0.rule.rawValue)]") + "\n" }
            try Output.write(lines.joined() + TerminalText.escaped(title) + ": " + Self.summary(findings) + "\n")
        }
        if !findings.isEmpty { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private static func summary(_ findings: [CloudKitFinding]) -> String {
        guard !findings.isEmpty else { return "nothing prevents mirroring to CloudKit" }
        let counts = CloudKitRule.allCases.compactMap { rule -> String? in
            let count = findings.count { $0.rule == rule }
            return count == 0 ? nil : "\(count) \(rule.rawValue)"
        }
        return counts.joined(separator: ", ")
    }

    private func lint() throws -> (title: String, findings: [CloudKitFinding]) {
        guard let file else {
            let schema = Tool.current.schema
            return ("the schema that ships, \(schema.version)", CloudKitLint.findings(in: StoredSchema(schema)))
        }
        if SourceKind(path: file) == .database {
            let source = try CoreDataFile(path: file)
            defer { source.close() }
            return (file, try CloudKitLint.findings(in: source))
        }
        return (file, CloudKitLint.findings(in: try StoreAddress(argument: file).storedSchema(by: .known)))
    }
}
