import ArgumentParser
import Foundation
import HabitStore

/// Whose stores are meant, and where they are.
struct UserOptions: ParsableArguments {
    @Option(help: "The folder of all users' stores. [$HABITSTORE_ROOT; default: ~/.local/share/habitstore]")
    var root: String?

    @Option(
        help:
            "Which one of several stores that each user has. [$HABITSTORE_STORE_NAME; default: the one without a name]"
    )
    var storeName: String?

    @Option(help: "The user. [$HABITSTORE_USER; default: the login name]")
    var user: String?

    @Option(
        help: ArgumentHelp(
            "The flag file that says which engine the user is on; empty for none.",
            discussion: "[$HABITSTORE_FLAGS; default: habit-store.flagd.json under the root, if it is there]"
        )
    )
    var flags: String?

    @Option(
        help: ArgumentHelp(
            "Servers that users' stores may be on, by the names that flag files have for them.",
            discussion: "NAME=postgresql://…, with blanks between several. [$HABITSTORE_SERVERS; default: none]"
        )
    )
    var servers: String?

    @Option(
        help: ArgumentHelp(
            "A file of keys that seal and prove the evidence, one a line, for its owner only.",
            discussion: "[$HABITSTORE_EVIDENCE_KEY_FILE; default: none]"
        )
    )
    var evidenceKeyFile: String?

    @Option(help: "The time zone in which days are counted. [$HABITSTORE_TIME_ZONE; default: the system's]")
    var timeZone: String?

    @Option(
        help: ArgumentHelp(
            "A JSON file with any of the keys root, storeName, user, flags, servers, policy, evidenceKeyFile, timeZone, openUsers.",
            discussion: "[default: $XDG_CONFIG_HOME/habitstore/config.json, if it is there]"
        )
    )
    var config: String?

    /// Whether the command line itself names a user's stores.
    var isGiven: Bool { root != nil || storeName != nil || user != nil }
}
