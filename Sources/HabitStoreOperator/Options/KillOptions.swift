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

    @Option(help: "The kill flag's key.")
    var flag = RolloutFlags.kill

    @Option(
        help: ArgumentHelp("The sentinel file.", discussion: "[default: \(RolloutFlags.sentinelName) under the root]")
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

    /// The triggers.
    func triggers() async throws -> KillTriggers {
        let paths = try await fileOptions.paths()
        return KillTriggers(
            flag: flag,
            file: paths.file,
            sentinel: try SentinelFile(path: sentinel ?? RolloutFlags.sentinelPath(root: paths.root)),
            makesFolder: sentinel == nil,
            by: by,
            users: users
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
