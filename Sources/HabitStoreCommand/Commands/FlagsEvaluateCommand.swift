import ArgumentParser
import FeatureFlags
import HabitStoreRollout
import HabitTracking

/// `habitstore flags evaluate`.
struct FlagsEvaluateCommand: ReportingCommand {
    /// The types that a flag's value can be asked for as.
    enum ValueType: String, ExpressibleByArgument, CaseIterable {
        case boolean, string, int, double, object
    }

    static let configuration = CommandConfiguration(
        commandName: "evaluate",
        abstract: "Evaluates a flag for somebody: value, variant, reason, error and metadata.",
        discussion: "Exit code 1 means that the evaluation is an error, and a program would use its own default."
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var fileOptions: FlagFileOptions
    @OptionGroup var contextOptions: FlagContextOptions

    @Option(help: "The type that a program asks for; without one any type will do.")
    var type: ValueType?

    func run() async throws {
        let context = try contextOptions.parsed()
        let snapshot = try FlagSnapshot.load(
            path: try await fileOptions.path(),
            configuration: RolloutFlags.configuration
        )
        let outcome = outcome(snapshot, context)
        switch output.format {
        case .json: try JSON.write(JSON.object(outcome.json))
        case .text:
            var table = TextTable([.init("", canShrink: false), .init("")])
            for row in outcome.rows { table.append(row) }
            try Output.write(table.text(Terminal.options()))
        }
        if outcome.errorCode != nil { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func outcome(_ snapshot: FlagSnapshot, _ context: EvaluationContext) -> FlagOutcome {
        let key = contextOptions.flag
        switch type {
        case nil: return FlagOutcome(flag: key, snapshot.resolve(key, context: context))
        case .boolean: return FlagOutcome(snapshot.boolean(key, default: false, context: context)) { .bool($0) }
        case .string: return FlagOutcome(snapshot.string(key, default: "", context: context)) { .string($0) }
        case .int: return FlagOutcome(snapshot.int(key, default: 0, context: context)) { .int($0) }
        case .double: return FlagOutcome(snapshot.double(key, default: 0, context: context)) { .double($0) }
        case .object: return FlagOutcome(snapshot.object(key, default: [:], context: context)) { .object($0) }
        }
    }
}
