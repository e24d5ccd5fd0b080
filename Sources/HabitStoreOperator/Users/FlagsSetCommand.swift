import ArgumentParser
import FeatureFlags
import FlagTools
import HabitStore
import HabitStoreRollout
import JSONText

/// `habitstore flags set FLAG`.
struct FlagsSetCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Changes a flag in its file atomically, and nothing else in the file.",
        discussion: """
            Readers of the file see the old one or the new one. A change that would introduce an error is refused; \
            other findings of the linter are reported.
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var fileOptions: FlagFileOptions

    @Argument(help: "The flag's key.")
    var flag: String

    @Option(help: "The default variant. A rule takes precedence over it.")
    var variant: String?

    @Option(help: "Whether the flag is evaluated: enabled or disabled.", transform: Self.state)
    var state: FlagFileText.State?

    @Option(
        help: ArgumentHelp("The weights of the rule's percentages, such as lmdb=20,sqlite=80.", valueName: "v=w,…"),
        transform: Self.shares
    )
    var percentage: [FlagFileText.Share] = []

    @Flag(help: "Remove the flag's rule first.")
    var removeTargeting = false

    @Flag(help: "Change nothing; report what the linter finds in the change.")
    var dryRun = false

    func validate() throws {
        let count = [variant != nil, state != nil, !percentage.isEmpty].count { $0 }
        guard count == 1 || (count == 0 && removeTargeting) else {
            throw ValidationError("name one of --variant, --state and --percentage")
        }
    }

    func run() async throws {
        let path = try await fileOptions.path()
        let linter = await RolloutFlags.linter()
        let (old, new): (FlagFileText, FlagFileText)
        if dryRun {
            old = try FlagFile.read(path: path)
            new = try changed(old, linter)
        } else {
            (old, new) = try FlagFile.update(path: path) { (text) throws(FlagError) in try changed(text, linter) }
        }
        let findings = Self.newFindings(old, new, linter)
        let decides = variant != nil && new.hasTargeting(flag)
        try output.write([
            "file": path,
            "flag": flag,
            "isChanged": old.bytes != new.bytes && !dryRun,
            "digestBefore": old.digest,
            "digest": new.digest,
            "hasTargeting": new.hasTargeting(flag),
            "findings": findings.map(\.json),
        ]) {
            for finding in findings { StandardError.note(finding.description) }
            if decides {
                StandardError.note(
                    "\(flag) has a rule, which takes precedence over its default; --remove-targeting removes it"
                )
            }
            return Self.summary(old, new, isDry: dryRun, flag, path)
        }
    }

    private func changed(_ text: FlagFileText, _ linter: FlagLinter) throws(FlagError) -> FlagFileText {
        var new = removeTargeting ? try text.removingTargeting(of: flag) : text
        if let variant { new = try new.settingDefaultVariant(variant, of: flag) }
        if let state { new = try new.settingState(state, of: flag) }
        if !percentage.isEmpty { new = try new.settingPercentages(percentage, of: flag) }
        if let error = Self.newFindings(text, new, linter).first(where: { $0.severity == .error }) {
            throw FlagError(
                .editRefused,
                "the change would introduce an error: \(error.message) [\(error.rule.rawValue)]",
                at: error.location
            )
        }
        return new
    }

    /// The linter's findings in the new text that it does not have in the old one.
    static func newFindings(_ old: FlagFileText, _ new: FlagFileText, _ linter: FlagLinter) -> [LintFinding] {
        let known = Set(old.lint(linter).findings.map { [$0.rule.rawValue, $0.message] })
        return new.lint(linter, against: old).findings.filter {
            !known.contains([$0.rule.rawValue, $0.message])
        }
    }

    static func summary(_ old: FlagFileText, _ new: FlagFileText, isDry: Bool, _ flag: String, _ path: String) -> String
    {
        let digests = "sha256 \(old.digest.prefix(12)) to \(new.digest.prefix(12))"
        let what =
            old.bytes == new.bytes ? "nothing to change" : isDry ? "would change, \(digests)" : "changed, \(digests)"
        return TerminalText.escaped("\(flag) in \(path): \(what)") + "\n"
    }

    private static func state(_ text: String) throws -> FlagFileText.State {
        guard let state = FlagFileText.State(rawValue: text.uppercased()) else {
            throw ValidationError("the state is enabled or disabled, not \"\(text)\"")
        }
        return state
    }

    private static func shares(_ text: String) throws -> [FlagFileText.Share] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            guard let equals = part.lastIndex(of: "="), let weight = Int(part[part.index(after: equals)...]),
                equals > part.startIndex
            else {
                throw ValidationError("\"\(part)\" is not a share; write variant=weight, with whole weights")
            }
            return FlagFileText.Share(variant: String(part[..<equals]), weight: weight)
        }
    }
}

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
        try output.write(json(results)) { results.compactMap(Self.report).map(text).joined() }
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

    private func json(_ results: [Result<LintReport, FlagError>]) -> JSONObject {
        let findings = results.compactMap(Self.report).flatMap(\.findings)
        let entries = zip(files, results).map { path, result -> JSONObject in
            switch result {
            case .success(let report):
                [
                    "file": report.source,
                    "isReadable": report.isReadable,
                    "findings": report.findings.map(\.json),
                    "error": nil,
                ]
            case .failure(let error):
                [
                    "file": path,
                    "isReadable": false,
                    "findings": [String](),
                    "error": ErrorReport(error, showsDetail: false).json,
                ]
            }
        }
        return [
            "errors": findings.count { $0.severity == .error },
            "warnings": findings.count { $0.severity == .warning },
            "files": entries,
        ]
    }
}

extension LintFinding {
    /// The finding as JSON.
    var json: JSONObject {
        [
            "rule": rule.rawValue,
            "severity": severity.rawValue,
            "message": message,
            "file": location.file,
            "line": location.line,
            "column": location.column,
        ]
    }
}

extension FlagValue {
    /// The value as JSON.
    var json: JSON {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .int(value)
        case .double(let value): value.isFinite ? .double(value) : .null
        case .string(let value): .string(value)
        case .list(let elements): .array(elements.map(\.json))
        case .object(let members): .object(members.mapValues(\.json))
        }
    }

    /// The value as one line of JSON.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .double(let value): String(value)
        case .string(let value): "\"\(value)\""
        case .list(let elements): "[" + elements.map(\.text).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value.text)" }.joined(separator: ", ")
                + "}"
        }
    }
}

extension FlagError.Location {
    /// The location as JSON.
    var json: JSONObject { ["file": file.map(Passwords.redacted), "line": line, "column": column] }
}
