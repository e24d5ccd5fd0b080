import ArgumentParser
import FeatureFlags
import FlagTools
import Foundation
import HabitStoreReports
import HabitStoreRollout

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
        switch output.format {
        case .json: try JSON.write(json(explanation))
        case .text: try Output.write(text(explanation))
        }
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

    private func json(_ explanation: FlagExplanation) -> JSON {
        var members = FlagOutcome(flag: flag, explanation.resolution).json
        members["source"] = .string(explanation.source)
        members["digest"] = .string(explanation.digest)
        members["decisions"] = .array(
            explanation.decisions.map {
                .object(["summary": .string($0.summary), "location": $0.location?.json ?? .null])
            }
        )
        members["hints"] = .array(
            explanation.hints.map { .object(["message": .string($0.message), "location": $0.location.json]) }
        )
        members["fractional"] = explanation.fractional.map { json($0) } ?? .null
        members["steps"] = .array(
            explanation.steps.map { step in
                .object([
                    "operator": .string(step.operator),
                    "line": .int(step.line),
                    "column": .int(step.column),
                    "depth": .int(step.depth),
                    "result": step.result?.json ?? .null,
                ])
            }
        )
        return .object(members)
    }

    private func json(_ choice: FractionalChoice) -> JSON {
        .object([
            "generation": .string(choice.generation.rawValue),
            "bucketingValue": .string(String(decoding: choice.bucketingBytes, as: UTF8.self)),
            "hash": .int(Int(choice.hash)),
            "bucket": .int(Int(choice.bucket)),
            "totalWeight": .int(Int(choice.totalWeight)),
            "chosen": choice.chosen.map { .int($0) } ?? .null,
            "entries": .array(
                choice.entries.map { .object(["variant": $0.variant.json, "weight": .int(Int($0.weight))]) }
            ),
        ])
    }
}
