import ArgumentParser
import FeatureFlags
import Foundation
import HabitStoreRollout

/// The triggers of the kill switch.
struct KillOptions: ParsableArguments {
    /// Which triggers are meant.
    enum Trigger: String, ExpressibleByArgument, CaseIterable {
        case flag, sentinel, both
    }

    @OptionGroup var fileOptions: FlagFileOptions

    @Option(
        help: ArgumentHelp(
            "Which one of several stores that each user has.",
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

    @Option(help: "Which trigger: the flag, the sentinel file, or both. With --users it is the flag.")
    var by = Trigger.both

    @Option(help: ArgumentHelp("Only these users, with commas between them.", valueName: "a,b"), transform: Self.users)
    var users: [String]?

    func validate() throws {
        guard users == nil || by != .sentinel else {
            throw ValidationError("the sentinel file is for everybody; leave --users out")
        }
    }

    /// The settings, and the triggers.
    func triggers() async throws -> (settings: Settings, triggers: KillTriggers) {
        let settings = try await fileOptions.settings(storeName: storeName)
        try settings.requireKillFlag(users: users, by: by)
        return (
            settings,
            try settings.killTriggers(users: users, by: by, flag: flag, file: fileOptions.file, sentinel: sentinel)
        )
    }

    /// Reads a list of users; who is named twice is in it once.
    static func users(_ text: String) throws -> [String] {
        let users = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard !users.contains("") else {
            throw ValidationError("an id in --users is empty; write them with commas between them, as ada,berta")
        }
        // By their bytes: ids that differ in their Unicode form only are two users.
        var named: Set<[UInt8]> = []
        return users.filter { named.insert(Array($0.utf8)).inserted }
    }
}
