import ArgumentParser
import FeatureFlags
import HabitStoreReports
import HabitStoreRollout

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
        switch output.format {
        case .json: try JSON.write(JSON.object(outcome.json))
        case .text:
            var table = TextTable([.init("", canShrink: false), .init("")])
            for row in outcome.rows { table.append(row) }
            try Output.write(table.text(Terminal.options()))
        }
        if outcome.errorCode != nil { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func reportAll(_ snapshot: FlagSnapshot, _ context: EvaluationContext) throws {
        let resolutions = snapshot.resolveAll(context: context)
        let outcomes = snapshot.keys.compactMap { key in resolutions[key].map { FlagOutcome(flag: key, $0) } }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "source": .string(snapshot.source),
                    "digest": .string(snapshot.digest),
                    "flags": .array(outcomes.map { .object($0.json) }),
                ])
            )
        case .text:
            var table = TextTable([.init("flag", canShrink: false), .init("value"), .init("variant"), .init("reason")])
            for outcome in outcomes { table.append(outcome.summary) }
            try Output.write(table.text(Terminal.options()))
        }
        if outcomes.contains(where: { $0.errorCode != nil }) { throw ExitCode(ExitStatus.different.rawValue) }
    }
}
