import ArgumentParser
import FeatureFlags
import FlagTools
import HabitStoreReports
import HabitStoreRollout

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
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "file": .string(path),
                    "flag": .string(flag),
                    "isChanged": .bool(old.bytes != new.bytes && !dryRun),
                    "digestBefore": .string(old.digest),
                    "digest": .string(new.digest),
                    "hasTargeting": .bool(new.hasTargeting(flag)),
                    "findings": .array(findings.map(\.json)),
                ])
            )
        case .text:
            for finding in findings { StandardError.note(finding.description) }
            if decides {
                StandardError.note(
                    "\(flag) has a rule, which takes precedence over its default; --remove-targeting removes it"
                )
            }
            try Output.write(Self.summary(old, new, isDry: dryRun, flag, path))
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
