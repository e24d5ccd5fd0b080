import ArgumentParser
import FeatureFlags
import FlagTools
import Foundation
import HabitStore
import HabitStoreRollout

/// The two triggers of the kill switch: the flag in the flag file, and the sentinel file.
struct KillTriggers {
    /// The result of pulling the triggers.
    struct Pulled {
        let isFlagSet: Bool
        /// Why it is not set.
        let flagFailure: FlagError?
    }

    /// The result of re-arming.
    struct Rearmed {
        let isFlagRearmed: Bool
        /// The sentinel file that was removed.
        let removedSentinel: String?
    }

    /// The kill flag's key.
    let flag: String
    let file: String
    /// Nil if it is unknown which one the readers of the flag file check.
    let sentinel: SentinelFile?
    /// Whether to create a missing folder for the sentinel file: the root may not exist yet.
    let makesFolder: Bool
    let by: KillOptions.Trigger
    /// Only these users; nil for all.
    let users: [String]?
    /// The store to kill; nil for unnamed stores, or if the sentinel file is for all.
    let store: StoreName?

    /// The triggers of the selected stores.
    ///
    /// - Parameters:
    ///   - flag: the kill flag; nil for these stores' own.
    ///   - file: the flag file; nil for the settings' own.
    ///   - sentinel: the sentinel file; nil for that of the root.
    ///   - isRootKnown: whether the readers of the flag file check the settings' root.
    init(
        _ settings: Settings,
        users: [String]?,
        by: KillOptions.Trigger,
        flag: String? = nil,
        file: String? = nil,
        sentinel: String? = nil,
        isRootKnown: Bool = true
    ) throws {
        self.flag = flag ?? settings.place.flags.kill
        self.file = file ?? settings.flagFile
        let path = sentinel ?? (isRootKnown ? RolloutFlags.sentinelPath(root: settings.root) : nil)
        self.sentinel = try path.map { try SentinelFile(path: $0) }
        makesFolder = sentinel == nil
        self.by = settings.flagProvider == nil ? by : .sentinel
        (self.users, store) = (users, settings.store)
    }

    /// The users to kill, in words.
    var whom: String {
        (users.map { $0.joined(separator: ", ") } ?? "everybody") + (store.map { " in the store \($0.text)" } ?? "")
    }

    /// The sentinel file's path, if it exists and these triggers are for all users.
    var presentSentinel: String? { users == nil ? sentinel.flatMap { $0.isPresent ? $0.path : nil } : nil }

    /// Pulls the requested triggers. For all users, each is tried even if the other fails, and only the failure of all is an error. If only the flag
    /// was requested and cannot be set, the sentinel file replaces it.
    func pull() throws -> Pulled {
        if let users {
            do throws(FlagError) {
                try FlagFile.update(path: file) { (text) throws(FlagError) in try text.killing(flag, users: users) }
            } catch {
                StandardError.note("no user is killed; without --users the sentinel file kills everybody")
                throw error
            }
            return Pulled(isFlagSet: true, flagFailure: nil)
        }
        guard sentinel != nil || by != .sentinel else { throw unknownRoot }
        var sentinelFailure: (any Error)?
        if by != .flag {
            do { try makeSentinel() } catch { sentinelFailure = error }
        }
        var flagFailure: FlagError?
        if by != .sentinel {
            do throws(FlagError) {
                try FlagFile.update(path: file) { (text) throws(FlagError) in try text.killing(flag) }
            } catch {
                if sentinel == nil {
                    StandardError.note("no user is killed; \(unknownRoot.message)")
                    throw error
                }
                flagFailure = error
                StandardError.note("the flag is not set: \(error)")
                if by == .flag { try makeSentinel() }
            }
        }
        let isFlagSet = by != .sentinel && flagFailure == nil
        if let sentinelFailure {
            guard isFlagSet else { throw sentinelFailure }
            StandardError.note("only the flag kills: \(sentinelFailure)")
        }
        return Pulled(isFlagSet: isFlagSet, flagFailure: flagFailure)
    }

    /// Re-arms the triggers, the flag first: if that fails, the sentinel file stays, and the kill switch with it.
    ///
    /// - Throws: why the flag cannot be re-armed. For all users, a missing flag is not an error.
    func rearm() throws -> Rearmed {
        var isFlagRearmed = false
        if by != .sentinel {
            do throws(FlagError) {
                let (old, new) = try FlagFile.update(path: file) { (text) throws(FlagError) in
                    try text.rearming(flag, users: users)
                }
                isFlagRearmed = old.bytes != new.bytes
            } catch {
                guard users == nil, error.code == .flagNotFound || error.code == .fileNotFound else { throw error }
                StandardError.note("\(error)")
            }
        }
        var removed: String?
        if by != .flag, users == nil, let sentinel, try sentinel.remove() { removed = sentinel.path }
        return Rearmed(isFlagRearmed: isFlagRearmed, removedSentinel: removed)
    }

    /// The error for a flag file whose root is unknown.
    private var unknownRoot: CommandFailure {
        .usage(
            "the sentinel file of the root that \(file) belongs to is unknown: name it with --sentinel "
                + "ROOT/\(RolloutFlags.sentinelName), or run `\(Tool.name) rollout kill --root ROOT`"
        )
    }

    private func makeSentinel() throws {
        guard let sentinel else { return }
        let folder = URL(fileURLWithPath: sentinel.path).deletingLastPathComponent()
        if makesFolder, !FileManager.default.fileExists(atPath: folder.path) {
            try PrivateFolder.make(
                folder.path,
                or: .permissionDenied,
                "the folder of the kill file cannot be made; check the permissions above it"
            )
        }
        try sentinel.create()
    }
}

/// The options that select the triggers of the kill switch.
struct KillOptions: ParsableArguments {
    /// The triggers to use.
    enum Trigger: String, ExpressibleByArgument, CaseIterable {
        case flag, sentinel, both

        /// - Throws: an error if it does not reach the named users.
        func validate(_ users: [String], _ lists: NamedUsers) throws {
            guard !users.contains("") else { throw ValidationError("the user id is empty; name a user with --user") }
            guard self != .sentinel || users.isEmpty && lists.isEmpty else {
                throw ValidationError("the sentinel file is for everybody; leave --users out")
            }
        }
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
        try by.validate(user, named)
    }

    /// The settings and the triggers.
    ///
    /// - Returns: the settings of the root that reads the flag file; nil if it is unknown, and with it the users whom the file reaches.
    func triggers() async throws -> (settings: Settings?, triggers: KillTriggers) {
        let settings = try await fileOptions.settings(storeName: storeName)
        let owner = try await fileOptions.owner(storeName: storeName)
        let users = try named.ids(and: user, root: owner?.root)
        try settings.requireKillFlag(users: users, by: by)
        let triggers = try KillTriggers(
            owner ?? settings,
            users: users,
            by: by,
            flag: flag,
            file: fileOptions.file,
            sentinel: sentinel,
            isRootKnown: owner != nil
        )
        return (owner, triggers)
    }
}

/// Selects the flag file.
struct FlagFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The flag file.",
            discussion: "[$\(Tool.environment)_FLAGS; default: habit-store.flagd.json under the root]"
        )
    )
    var file: String?

    /// The settings with this flag file, if one is given.
    ///
    /// - Parameter storeName: the store that is meant; nil for the one in the settings.
    func settings(storeName: String? = nil) async throws -> Settings {
        var options = try UserOptions.parse([])
        (options.flags, options.storeName) = (file, storeName)
        return try await Settings(options)
    }

    /// The settings of the root that this flag file belongs to: the settings' own root if they name the file, or the file's folder if the file has
    /// the name of a root's flag file and lies next to users' stores.
    ///
    /// - Returns: nil if that is unknown.
    func owner(storeName: String? = nil) async throws -> Settings? {
        var options = try UserOptions.parse([])
        options.storeName = storeName
        let settings = try await Settings(options)
        guard let file else { return settings }
        let url = URL(fileURLWithPath: file)
        if url.resolvingSymlinksInPath() == URL(fileURLWithPath: settings.flagFile).resolvingSymlinksInPath() {
            return settings
        }
        let folder = url.deletingLastPathComponent().path
        let hasStores = ["users", "stores"].contains { FileManager.default.fileExists(atPath: folder + "/" + $0) }
        guard url.lastPathComponent == Settings.flagFileName, hasStores else { return nil }
        (options.root, options.flags) = (folder, file)
        return try await Settings(options)
    }

    func path() async throws -> String {
        if let file { return file }
        return try await settings().flagFile
    }
}

extension RolloutFlags {
    /// The configuration that the product evaluates its flags with.
    static let configuration = FlagConfiguration(killFlags: [kill])

    /// The linter for flag files.
    ///
    /// The names of servers depend on where a command runs. So if servers are possible and the settings name none, an unknown engine is only a
    /// warning.
    static func linter() async -> FlagLinter {
        // Linting needs no settings and must not fail if they are broken.
        let settings = try? await Settings(UserOptions.parse([]))
        let engines = (settings?.engines ?? Tool.current.engines).names
        let isComplete = Tool.current.servers == nil || engines.count > Tool.current.engines.names.count
        let values = FlagFamily.Values.texts(
            .init("an engine", engines.map(\.rawValue), isComplete: isComplete)
        )
        return FlagLinter(
            stages: [StageOrder(flagKey: stage, values: Stage.allCases.map(\.rawValue))],
            family: FlagFamily(
                first: "habit",
                endings: [
                    "-store-stage": .texts(.init("a stage", Stage.allCases.map(\.rawValue))),
                    "-store-old": values, "-store-new": values, "-store-backend": values,
                    "-store-kill": .kill,
                ],
                pair: .init(from: "-store-old", to: "-store-new"),
                canBeName: { (try? StoreName($0)) != nil }
            ),
            configuration: configuration
        )
    }
}
