import ArgumentParser
import FeatureFlags
import HabitStoreReports

/// `habitstore flags rearm`.
struct FlagsRearmCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rearm",
        abstract: "Takes back what flags kill did, for everybody or for some users.",
        discussion: """
            The flag is taken back first, and the sentinel file removed after it: where the flag file cannot be changed, \
            the sentinel file stays, and the kill switch with it. With the name of a store it is the flag and the sentinel file of \
            that store; those of the root are taken back without one.
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var options: KillOptions

    func run() async throws {
        let triggers = try await options.triggers().triggers
        let (flag, path) = (triggers.flag, triggers.file)
        let rearmed = try triggers.rearm()
        let left = triggers.sentinel.flatMap { $0.isPresent ? $0.path : nil }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "isFlagRearmed": .bool(rearmed.isFlagRearmed),
                    "isSentinelRemoved": .bool(rearmed.removedSentinel != nil),
                    "flag": .string(flag),
                    "flagFile": .string(path),
                    "isSentinelPresent": .bool(left != nil),
                    "sentinel": .optional(triggers.sentinel?.path),
                ])
            )
        case .text:
            var lines: [String] = []
            if rearmed.isFlagRearmed { lines.append("the flag \(flag) in \(path) is taken back") }
            if let removed = rearmed.removedSentinel { lines.append("the sentinel file \(removed) is removed") }
            if lines.isEmpty { lines.append("nothing was pulled") }
            if let left { lines.append("the sentinel file \(left) is still there, and kills") }
            try Output.write(lines.map { TerminalText.escaped($0) + "\n" }.joined())
        }
    }
}
