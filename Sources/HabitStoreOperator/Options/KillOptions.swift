import ArgumentParser
import FeatureFlags
import Foundation
import HabitStoreRollout

/// The options that select the triggers of the kill switch.
struct KillOptions: ParsableArguments {
    /// The triggers to use.
    enum Trigger: String, ExpressibleByArgument, CaseIterable {
        case flag, sentinel, both
    }

    @OptionGroup var fileOptions: FlagFileOptions

    @Option(
        help: ArgumentHelp(
            "The name of the store, if users have several.",
            discussion:
                "[$\(Tool.environment)_STORE_NAME; default: the one without a name, whose sentinel file is for all]"
        )
    )
    var storeName: String?

    @Option(
        help: ArgumentHelp(
            "The kill flag's key.",
            discussion: "[default: \(RolloutFlags.kill), or NAME-store-kill for the store NAME]"
        )
    )
    var flag: String?

    @Option(
        help: ArgumentHelp(
            "The sentinel file.",
            discussion:
                "[default: \(RolloutFlags.sentinelName) under the root, or under ROOT/stores/NAME for the store NAME]"
        )
    )
    var sentinel: String?

    @Option(help: "Which trigger: the flag, the sentinel file, or both. With named users it is the flag.")
    var by = Trigger.both

    @Option(help: "Only this user; repeatable.")
    var user: [String] = []

    @OptionGroup var named: NamedUsers

    func validate() throws {
        guard !user.contains("") else { throw ValidationError("the user id is empty; name a user with --user") }
        guard by != .sentinel || user.isEmpty && named.isEmpty else {
            throw ValidationError("the sentinel file is for everybody; leave --users out")
        }
    }

    /// The settings and the triggers.
    ///
    /// - Returns: the settings of the root that reads the flag file; nil if it is unknown, and with it the users whom the file reaches.
    func triggers() async throws -> (settings: Settings?, triggers: KillTriggers) {
        let settings = try await fileOptions.settings(storeName: storeName)
        let owner = try await fileOptions.owner(storeName: storeName)
        let users = try named.ids(and: user, root: owner?.root)
        try settings.requireKillFlag(users: users, by: by)
        let triggers = try (owner ?? settings).killTriggers(
            users: users,
            by: by,
            flag: flag,
            file: fileOptions.file,
            sentinel: sentinel ?? owner.map { RolloutFlags.sentinelPath(root: $0.root) },
            makesFolder: sentinel == nil
        )
        return (owner, triggers)
    }
}
