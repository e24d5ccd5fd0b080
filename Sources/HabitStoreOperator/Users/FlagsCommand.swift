import ArgumentParser
import FeatureFlags
import FlagTools
import Foundation
import HabitStoreRollout
import JSONText

/// `habitstore flags`.
struct FlagsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flags",
        abstract: "Checks, evaluates, explains and changes flag files, and pulls the kill switch.",
        subcommands: [
            FlagsLintCommand.self, FlagsEvaluateCommand.self, FlagsExplainCommand.self, FlagsSetCommand.self,
            FlagsKillCommand.self, FlagsRearmCommand.self,
        ]
    )
}

/// `habitstore flags evaluate`.
struct FlagsEvaluateCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "evaluate",
        abstract: "Evaluates a flag, or all flags, for a context: value, variant, reason, error and metadata.",
        discussion: "Exit code 1 means that an evaluation failed, and a program would use its own default."
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var fileOptions: FlagFileOptions

    @Option(help: "The flag's key.")
    var flag: String?

    @Flag(help: "Evaluate all flags of the file, as of one point in time.")
    var all = false

    @OptionGroup var contextOptions: FlagContextOptions

    @Option(help: "The type that a program asks for. [default: any]")
    var type: FlagValueType?

    func validate() throws {
        guard (flag != nil) != all else { throw ValidationError("name a flag with --flag, or ask for all with --all") }
        guard !all || type == nil else {
            throw ValidationError("--type is for one flag; flags of one file have values of several types")
        }
    }

    func run() async throws {
        let context = try contextOptions.parsed()
        let snapshot = try FlagSnapshot.load(
            path: try await fileOptions.path(),
            configuration: RolloutFlags.configuration
        )
        if let flag {
            try report(flag, snapshot, context)
        } else {
            try reportAll(snapshot, context)
        }
    }

    private func report(_ key: String, _ snapshot: FlagSnapshot, _ context: EvaluationContext) throws {
        let resolution =
            type.map { snapshot.resolve(key, as: $0, context: context) } ?? snapshot.resolve(key, context: context)
        let outcome = FlagOutcome(flag: key, resolution)
        try output.write(outcome.json) {
            var table = TextTable([.init("", canShrink: false), .init("")])
            for row in outcome.rows { table.append(row) }
            return table.text(Terminal.options())
        }
        if outcome.errorCode != nil { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func reportAll(_ snapshot: FlagSnapshot, _ context: EvaluationContext) throws {
        let resolutions = snapshot.resolveAll(context: context)
        let outcomes = snapshot.keys.compactMap { key in resolutions[key].map { FlagOutcome(flag: key, $0) } }
        try output.write([
            "source": snapshot.source,
            "digest": snapshot.digest,
            "flags": outcomes.map { $0.json },
        ]) {
            var table = TextTable([.init("flag", canShrink: false), .init("value"), .init("variant"), .init("reason")])
            for outcome in outcomes { table.append(outcome.summary) }
            return table.text(Terminal.options())
        }
        if outcomes.contains(where: { $0.errorCode != nil }) { throw ExitCode(ExitStatus.different.rawValue) }
    }
}

/// `habitstore flags explain`.
struct FlagsExplainCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Evaluates a flag and explains why: which rule, which bucket of which weights, from which file.",
        discussion: "The steps show values of the context. Exit code 1 means that the evaluation failed."
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var fileOptions: FlagFileOptions

    @Option(help: "The flag's key.")
    var flag: String

    @OptionGroup var contextOptions: FlagContextOptions

    func run() async throws {
        let explanation = try FlagExplanation.explain(
            flag,
            context: try contextOptions.parsed(),
            path: try await fileOptions.path(),
            configuration: RolloutFlags.configuration
        )
        try output.write(json(explanation)) { text(explanation) }
        if explanation.resolution.errorCode != nil { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func text(_ explanation: FlagExplanation) -> String {
        var table = TextTable([.init("", canShrink: false), .init("")])
        for row in FlagOutcome(flag: flag, explanation.resolution).rows { table.append(row) }
        for (index, decision) in explanation.decisions.enumerated() {
            let place = decision.location.map { " at \($0.line ?? 0):\($0.column ?? 0)" } ?? ""
            table.append([index == 0 ? "decided by" : "", decision.summary + place])
        }
        for hint in explanation.hints {
            table.append(["hint", "\(hint.message) at \(hint.location.line ?? 0):\(hint.location.column ?? 0)"])
        }
        if let choice = explanation.fractional {
            table.append(["bucketing value", "\(bucketingText(choice)) (\(choice.generation.rawValue))"])
            table.append(["hash", "\(choice.hash) (0x\(String(choice.hash, radix: 16)))"])
            table.append(["bucket", "\(choice.bucket) of \(choice.totalWeight)"])
            let weights = choice.entries.map { "\($0.variant.stringValue ?? $0.variant.text) \($0.weight)" }
            table.append(["weights", weights.joined(separator: ", ")])
        }
        table.append(["source", explanation.source])
        table.append(["digest", "sha256:\(explanation.digest)"])
        var text = table.text(Terminal.options())
        guard !explanation.steps.isEmpty else { return text }
        text += "\nsteps\n"
        for step in explanation.steps {
            let place = TerminalText.padded("\(step.line):\(step.column)", toWidth: 9)
            let indentation = String(repeating: "  ", count: min(step.depth, 32))
            let line = "  \(place) \(indentation)\(step.operator) → \(step.result?.text ?? "given up")"
            text += TerminalText.escaped(line) + "\n"
        }
        return text
    }

    private func bucketingText(_ choice: FractionalChoice) -> String {
        if choice.generation != .v3, let text = String(validating: choice.bucketingBytes, as: UTF8.self) {
            return "\"\(text)\""
        }
        return "0x" + choice.bucketingBytes.map { String(format: "%02x", $0) }.joined()
    }

    private func json(_ explanation: FlagExplanation) -> JSONObject {
        var members = FlagOutcome(flag: flag, explanation.resolution).json
        members["source"] = explanation.source
        members["digest"] = explanation.digest
        members["decisions"] = explanation.decisions.map {
            ["summary": $0.summary, "location": $0.location?.json] as JSONObject
        }
        members["hints"] = explanation.hints.map {
            ["message": $0.message, "location": $0.location.json] as JSONObject
        }
        members["fractional"] = explanation.fractional.map(json)
        members["steps"] = explanation.steps.map { step in
            [
                "operator": step.operator,
                "line": step.line,
                "column": step.column,
                "depth": step.depth,
                "result": step.result?.json,
            ] as JSONObject
        }
        return members
    }

    private func json(_ choice: FractionalChoice) -> JSONObject {
        [
            "generation": choice.generation.rawValue,
            "bucketingValue": String(decoding: choice.bucketingBytes, as: UTF8.self),
            "hash": choice.hash,
            "bucket": choice.bucket,
            "totalWeight": choice.totalWeight,
            "chosen": choice.chosen,
            "entries": choice.entries.map { ["variant": $0.variant.json, "weight": $0.weight] as JSONObject },
        ]
    }
}

/// The evaluation context of flags.
struct FlagContextOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A JSON object, as '{\"targetingKey\": \"ada\", \"app\": {\"version\": \"2.1.0\"}}'."))
    var context = "{}"

    func parsed() throws -> EvaluationContext { try EvaluationContext(json: .init(context.utf8)) }
}

/// The outcome of an evaluation, for output.
struct FlagOutcome {
    let flag: String
    /// Nil if the caller's default applies.
    let value: FlagValue?
    let variant: String?
    let reason: Reason
    let errorCode: FlagError.Code?
    let errorMessage: String?
    let metadata: [String: FlagValue]

    init(flag: String, _ resolution: Resolution) {
        self.flag = flag
        value = resolution.value
        variant = resolution.variant
        reason = resolution.reason
        errorCode = resolution.errorCode
        errorMessage = resolution.errorMessage
        metadata = resolution.flagMetadata
    }

    /// The outcome as members of a JSON object.
    var json: JSONObject {
        [
            "flag": flag,
            "value": value?.json,
            "variant": variant,
            "reason": reason.rawValue,
            "errorCode": errorCode?.rawValue,
            "errorMessage": errorMessage,
            "metadata": metadata.mapValues(\.json),
        ]
    }

    /// The outcome as one row in a table of several.
    var summary: [String] {
        let why = errorCode.map { "\(reason.rawValue): \($0.rawValue)" } ?? reason.rawValue
        return [flag, value?.text ?? "the caller's default", variant ?? "none", why]
    }

    /// The outcome as rows of a table.
    var rows: [[String]] {
        var rows = [
            ["flag", flag],
            ["value", value?.text ?? "the caller's default"],
            ["variant", variant ?? "none"],
            ["reason", reason.rawValue],
        ]
        if let errorCode { rows.append(["error", "\(errorCode.rawValue): \(errorMessage ?? "")"]) }
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) { rows.append(["metadata \(name)", value.text]) }
        return rows
    }
}

/// Arguments name value types.
extension FlagValueType: ExpressibleByArgument {}
