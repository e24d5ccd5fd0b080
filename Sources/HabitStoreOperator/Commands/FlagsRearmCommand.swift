import ArgumentParser
import FeatureFlags
import HabitStoreReports

/// `habitstore flags rearm`.
struct FlagsRearmCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rearm",
        abstract: "Undoes flags kill, for everybody or for some users.",
        discussion: """
            The flag is taken back first, and then the sentinel file is removed. If the flag file cannot be changed, \
            the sentinel file stays, and so does the kill. With the name of a store, these are the flag and the \
            sentinel file of that store; without it, those of the root.
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
