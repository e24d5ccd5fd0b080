import ArgumentParser
import FeatureFlags
import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// `habitstore flags kill`.
struct FlagsKillCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "Pulls the kill switch, for everybody or for some users.",
        discussion: """
            For everybody, the sentinel file is created first, and then the flag is set. If the flag file cannot be \
            read or changed, the sentinel file alone kills, whatever --by says. For some users only the flag can do \
            it, and a file that cannot be changed is an error.

            The sentinel file is that of the root to which the flag file belongs. With --file this is the settings' \
            root if they name the file, or the file's folder if it has users' stores and the file has the default \
            name. For any other file only the flag is set, and a flag that cannot be set is an error.

            With the name of a store, these are the flag and the sentinel file of that store.
            Exit codes: 0 it is pulled for the users that the report counts, or for the readers of the file; 74 it \
            reaches no user, or a named user has no stores.
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var options: KillOptions

    /// The users whom a kill reaches.
    private struct Reach {
        /// The number of users; nil if it is unknown which roots read the flag file.
        var users: Int?
        /// Why it does not reach some users, one line each.
        var problems: [String] = []
    }

    func run() async throws {
        let (settings, triggers) = try await options.triggers()
        let pulled = try triggers.pull()
        let reach = reach(settings, triggers)
        try report(triggers, pulled, reach)
        if !reach.problems.isEmpty { throw ExitCode(ExitStatus.inputOutput.rawValue) }
    }

    /// The users whom the triggers reach. The triggers are already pulled: a failure here prevents no kill.
    private func reach(_ settings: Settings?, _ triggers: KillTriggers) -> Reach {
        guard let settings else { return Reach() }
        do {
            guard let named = triggers.users else { return try reachOfAll(settings) }
            let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
            let missing = named.filter { user in
                do { try stores.check(user) } catch let error as HabitStoreError {
                    return error.underlying is NoSuchUser
                } catch {}
                return false
            }
            return Reach(
                users: named.count - missing.count,
                problems: missing.map { "\($0): this user has no stores under \(settings.root)" }
            )
        } catch {
            return Reach(problems: ["cannot determine which users it reaches: \(ErrorReport.message(of: error))"])
        }
    }

    private func reachOfAll(_ settings: Settings) throws -> Reach {
        let (stores, failure) = settings.ofAllStores()
        if let failure { throw failure }
        let count = try stores.reduce(0) { count, place in
            let listing = try place.stores(otherVersions: .asWrittenByAnyApp).users()
            return count + listing.users.count + listing.unknown.count
        }
        guard count == 0 else { return Reach(users: count) }
        let absence = settings.absence() ?? "no user has stores under \(settings.root)"
        return Reach(users: 0, problems: ["\(absence); the kill applies to users who are added later"])
    }

    private func report(_ triggers: KillTriggers, _ pulled: KillTriggers.Pulled, _ reach: Reach) throws {
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "flag": pulled.isFlagSet ? .string(triggers.flag) : .null,
                    "flagFile": .string(triggers.file),
                    "flagError": .optional(pulled.flagFailure?.description),
                    "sentinel": .optional(triggers.presentSentinel),
                    "users": triggers.users.map { .array($0.map { .string($0) }) } ?? .null,
                    "reached": reach.users.map { .int($0) } ?? .null,
                    "problems": .array(reach.problems.map { .string($0) }),
                ])
            )
        case .text:
            var lines = ["killed for \(triggers.whom)"]
            if pulled.isFlagSet { lines.append("  by the flag \(triggers.flag) in \(triggers.file)") }
            if let sentinel = triggers.presentSentinel { lines.append("  by the sentinel file \(sentinel)") }
            if let users = reach.users, users > 0 {
                lines.append("  it reaches \(users.counted("user")) with stores here")
            } else if reach.problems.isEmpty {
                lines.append(
                    "  it reaches the users of the programs that read this file; its root is unknown"
                )
            }
            try Output.write((lines + reach.problems).map { TerminalText.escaped($0) + "\n" }.joined())
        }
    }
}
