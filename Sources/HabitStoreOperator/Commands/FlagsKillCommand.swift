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
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var options: KillOptions

    func run() async throws {
        let triggers = try await options.triggers()
        let pulled = try triggers.pull()
        let sentinel = options.users == nil ? triggers.sentinel : nil
        try report(isFlagSet: pulled.isFlagSet, sentinel: sentinel, triggers.file, pulled.flagFailure)
    }

    private func report(
        isFlagSet: Bool,
        sentinel: SentinelFile?,
        _ path: String,
        _ failure: FlagError?
    ) throws {
        let isPresent = sentinel?.isPresent ?? false
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "flag": isFlagSet ? .string(options.flag) : .null,
                    "flagFile": .string(path),
                    "flagError": .optional(failure?.description),
                    "sentinel": isPresent ? .optional(sentinel?.path) : .null,
                    "users": options.users.map { .array($0.map { .string($0) }) } ?? .null,
                ])
            )
        case .text:
            let whom = options.users.map { $0.joined(separator: ", ") } ?? "everybody"
            var lines = ["killed for \(whom)"]
            if isFlagSet { lines.append("  by the flag \(options.flag) in \(path)") }
            if isPresent, let sentinel { lines.append("  by the sentinel file \(sentinel.path)") }
            try Output.write(lines.map { TerminalText.escaped($0) + "\n" }.joined())
        }
    }
}
