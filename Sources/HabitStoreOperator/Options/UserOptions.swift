import ArgumentParser
import Foundation
import HabitStore
import HabitStoreRollout

/// Selects users' stores with `--root`, `--user`, `--flags` and the like; an app's own commands can include it as an `@OptionGroup`.
public struct UserOptions: ParsableArguments {
    @Option(help: "The folder of all users' stores. [$\(Tool.environment)_ROOT; default: ~/.local/share/\(Tool.name)]")
    package var root: String?

    @Option(
        help: ArgumentHelp(
            "The name of the store, if users have several.",
            discussion: "[$\(Tool.environment)_STORE_NAME; default: the one without a name]"
        )
    )
    package var storeName: String?

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp("The user. [$\(Tool.environment)_USER; default: the login name]", valueName: "user")
    )
    package var users: [String] = []

    @Option(
        help: ArgumentHelp(
            "The flag file that says which engine the user is on; empty for none.",
            discussion: "[$\(Tool.environment)_FLAGS; default: habit-store.flagd.json under the root, if it is there]"
        )
    )
    package var flags: String?

    @Option(
        help: ArgumentHelp(
            "Servers that users' stores may be on, by the names that flag files have for them.",
            discussion:
                "NAME=postgresql://…, separated by spaces. [$\(Tool.environment)_SERVERS; default: none]"
        )
    )
    package var servers: String?

    @Option(
        help: ArgumentHelp(
            "A file of keys that seal and prove the evidence, one per line, for its owner only.",
            discussion: "[$\(Tool.environment)_EVIDENCE_KEY_FILE; default: none]"
        )
    )
    package var evidenceKeyFile: String?

    @Option(help: "The time zone in which days are counted. [$\(Tool.environment)_TIME_ZONE; default: the system's]")
    package var timeZone: String?

    @Option(
        help: ArgumentHelp(
            "A JSON file with any of the keys root, storeName, user, flags, servers, policy, evidenceKeyFile, timeZone, openUsers.",
            discussion: "[default: $XDG_CONFIG_HOME/\(Tool.name)/config.json, if it is there]"
        )
    )
    package var config: String?

    /// Creates the options without values.
    public init() {}

    /// The user that the command line names. If it names several, most commands refuse it.
    package var user: String? {
        get { users.first }
        set { users = newValue.map { [$0] } ?? [] }
    }

    /// Checks that a command for all users names none.
    func requireNoUser(with all: Bool) throws {
        guard !all || user == nil else { throw ValidationError("give --user or --all, not both") }
    }

    /// Whether the command line itself selects users' stores.
    package var isGiven: Bool { root != nil || storeName != nil || user != nil }

    /// Opens the users' stores as all commands do: users are not moved in the background, and flags and the kill switch are read when a user is
    /// opened.
    ///
    /// - Returns: the stores and the selected user.
    /// - Throws: an error in the settings, in one line.
    public func stores() async throws -> (stores: UserStores, user: String) {
        let settings = try await Settings(self)
        return (try settings.stores(), settings.user)
    }
}
