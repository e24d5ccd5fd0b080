import ArgumentParser
import FeatureFlags
import HabitStoreReports

/// `habitstore flags kill`.
struct FlagsKillCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Pulls the kill switch, for everybody or for some users.",
        discussion: """
            For everybody the sentinel file is made first, and then the flag is set: where the flag file cannot be read or \
            changed, the sentinel file does it alone, whatever --by says. For some users only the flag can do it, and a \
            file that cannot be changed is an error.

            With the name of a store it is the flag and the sentinel file of that store.
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var options: KillOptions

    func run() async throws {
        let (settings, triggers) = try await options.triggers()
        let pulled = try triggers.pull()
        if let absence = settings.absence() { StandardError.note(absence) }
        try report(triggers, pulled)
    }

    private func report(_ triggers: KillTriggers, _ pulled: KillTriggers.Pulled) throws {
        let sentinel = triggers.sentinel
        let isPresent = triggers.users == nil && sentinel.isPresent
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "flag": pulled.isFlagSet ? .string(triggers.flag) : .null,
                    "flagFile": .string(triggers.file),
                    "flagError": .optional(pulled.flagFailure?.description),
                    "sentinel": isPresent ? .string(sentinel.path) : .null,
                    "users": options.users.map { .array($0.map { .string($0) }) } ?? .null,
                ])
            )
        case .text:
            var lines = ["killed for \(triggers.whom)"]
            if pulled.isFlagSet { lines.append("  by the flag \(triggers.flag) in \(triggers.file)") }
            if isPresent { lines.append("  by the sentinel file \(sentinel.path)") }
            try Output.write(lines.map { TerminalText.escaped($0) + "\n" }.joined())
        }
    }
}
