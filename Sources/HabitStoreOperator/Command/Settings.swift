import Configuration
import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import ShadowVerifier

/// The settings of a command: from the command line, or else the environment, the configuration file, or the defaults.
package struct Settings {
    package static let flagFileName = "habit-store.flagd.json"
    static let policyFileName = "habit-store.policy.json"

    /// The root: the folder of all users' stores.
    package let home: String
    /// The store that is meant; nil for unnamed stores.
    package private(set) var store: StoreName?
    package let user: String
    /// The flag file; nil if there is none.
    package let flags: String?
    /// The app's own source of flags, used if no file is named.
    let flagProvider: (any RolloutFlagProvider)?
    /// The engines that users may be on.
    package let engines: Engines
    /// The file with the gate's policy; nil for the defaults.
    let policy: String?
    /// The file with the keys that seal evidence; nil for none.
    let evidenceKeyFile: String?
    package let timeZone: TimeZone
    /// How many users' files may be open at the same time; nil for as many as this process's limit on open files allows.
    let openUsers: Int?

    /// The place of the selected stores.
    package var place: StoreRoot { StoreRoot(home, store) }

    /// The folder of the selected stores.
    package var root: String { place.path }

    /// Reads the settings.
    ///
    /// - Throws: a usage error for an invalid configuration file or an unknown time zone.
    package init(_ options: UserOptions) async throws {
        guard options.users.count < 2 else {
            throw CommandFailure.usage(
                "--user is given \(options.users.count) times, but this command takes one user"
            )
        }
        let environment = ProcessInfo.processInfo.environment
        let home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
        var providers: [any ConfigProvider] = [
            EnvironmentVariablesProvider().prefixKeys(with: ConfigKey([Tool.environment.lowercased()]))
        ]
        if let path = Self.configurationFile(options, environment, home) {
            providers.append(try await ConfigurationFile.load(path: path))
        }
        let reader = ConfigReader(providers: providers)
        let root = try await Self.value(options.root, "root", reader)
        guard root != "" else { throw CommandFailure.usage("the root is empty; name a folder with --root") }
        let data = environment["XDG_DATA_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? home + "/.local/share"
        let folder = root.map { Self.expanded($0, home) } ?? data + "/" + Tool.name
        self.home = folder
        store = try await Self.value(options.storeName, "storeName", reader).flatMap {
            $0.isEmpty ? nil : try StoreName($0)
        }
        user = try await Self.value(options.user, "user", reader) ?? NSUserName()
        if let flags = try await Self.value(options.flags, "flags", reader) {
            (self.flags, flagProvider) = (flags.isEmpty ? nil : Self.expanded(flags, home), nil)
        } else if let provider = Tool.current.command.flagProvider {
            (flags, flagProvider) = (nil, provider)
        } else {
            let path = folder + "/" + Self.flagFileName
            (flags, flagProvider) = (FileManager.default.fileExists(atPath: path) ? path : nil, nil)
        }
        AdvisedUser.note(options, user: user)
        engines = try Self.engines(servers: try await Self.value(options.servers, "servers", reader) ?? "")
        if let policy = try await Self.value(nil, "policy", reader), !policy.isEmpty {
            self.policy = Self.expanded(policy, home)
        } else {
            let path = folder + "/" + Self.policyFileName
            policy = FileManager.default.fileExists(atPath: path) ? path : nil
        }
        evidenceKeyFile = try await Self.value(options.evidenceKeyFile, "evidenceKeyFile", reader)
            .flatMap { $0.isEmpty ? nil : Self.expanded($0, home) }
        if let name = try await Self.value(options.timeZone, "timeZone", reader) {
            guard let zone = TimeZone(identifier: name) else {
                throw CommandFailure.usage("there is no time zone \"\(name)\"; write one like Europe/Berlin")
            }
            timeZone = zone
        } else {
            timeZone = .current
        }
        openUsers = try await Self.value(nil, "openUsers", reader).map { text in
            guard let count = Int(text), count > 0 else {
                throw CommandFailure.usage(
                    "openUsers is \"\(text)\"; write how many users may be open at the same time, 1 or more"
                )
            }
            return count
        }
    }

    /// The flag file's path, even if the file does not exist.
    var flagFile: String { flags ?? home + "/" + Self.flagFileName }

    /// The settings for each store that users have under the root, or only these if they name a store.
    ///
    /// - Returns: these settings and an error if the named stores cannot be listed, because the unnamed ones are still known.
    func ofAllStores() -> (stores: [Settings], failure: (any Error)?) {
        guard store == nil else { return ([self], nil) }
        do {
            let stores = try StoreRoot.all(under: home).map { place in
                var settings = self
                settings.store = place.name
                return settings
            }
            return (stores, nil)
        } catch {
            return ([self], error)
        }
    }

    /// The named stores that a user has under the root, for commands about the user as a whole; none if the settings name a store.
    ///
    /// - Throws: an error if they cannot be listed.
    func otherStores(of user: String) throws -> [(settings: Settings, stores: UserStores)] {
        guard store == nil else { return [] }
        let (all, failure) = ofAllStores()
        if let failure { throw failure }
        return try all.filter { $0.store != nil }.compactMap { settings in
            let stores = try settings.stores(otherVersions: .asWrittenByAnyApp)
            return try stores.users().users.contains(user) ? (settings, stores) : nil
        }
    }

    /// A message that no user has such a store, with the names of the stores that exist; nil if some user has one.
    func absence() -> String? {
        guard !hasUsers else { return nil }
        guard let store else { return "no user has stores under \(home) yet" }
        var others = self
        others.store = nil
        let names = others.ofAllStores().stores.filter(\.hasUsers).compactMap(\.store?.text)
        return "no user has a store \(store.text) under \(home) yet; "
            + (names.isEmpty ? "there are no named stores" : "named stores: \(names.joined(separator: ", "))")
    }

    /// Whether any user has such a store; a folder that cannot be read is not empty.
    private var hasUsers: Bool {
        guard let listing = try? stores(otherVersions: .asWrittenByAnyApp).users() else { return true }
        return !listing.users.isEmpty || !listing.unknown.isEmpty
    }

    /// The stores under the root.
    ///
    /// - Parameters:
    ///   - gate: the evidence that promotions need; nil for what the app's command says.
    ///   - queries: the file with additional queries for verifications.
    ///   - recorder: records the queries that users ask.
    ///   - otherVersions: what to do with stores of other schema versions.
    ///   - followsFlags: whether the command keeps running and has to react to the flags and the kill switch.
    package func stores(
        gate: GatePolicy? = nil,
        queries: String? = nil,
        recorder: QueryRecorder? = nil,
        otherVersions: RolloutOptions.OtherVersions = .migrated,
        followsFlags: Bool = false
    ) throws -> UserStores {
        var options = Self.rolloutOptions
        options.followsFlags = followsFlags
        options.otherVersions = otherVersions
        if let openUsers { options.maximumOpenUsers = openUsers }
        if let gate { options.gate = gate }
        if let evidenceKeyFile { options.evidenceKeys = try EvidenceKeys(path: evidenceKeyFile) }
        options.queryRecorder = recorder
        let queries = try queries.map { try QueryFile.load(path: $0).queries } ?? []
        return try UserStores(
            root: home,
            store: store?.text,
            origin: flagProvider.map { .provider($0) } ?? flags.map { .file($0) },
            engines: engines,
            schema: Tool.current.schema,
            queries: queries,
            options: options
        )
    }

    /// The tool's engines and the servers.
    private static func engines(servers: String) throws -> Engines {
        let named = servers.split(whereSeparator: \.isWhitespace)
        guard !named.isEmpty else { return Tool.current.engines }
        guard let makers = Tool.current.servers else {
            throw CommandFailure.usage("\(Tool.name) keeps no users on servers; leave the servers out")
        }
        let providers = try named.map { text in
            let parts = text.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let name = EngineName(rawValue: String(parts[0])) else {
                // Do not repeat any of it: it may contain a password.
                throw CommandFailure.usage("a server is written as NAME=postgresql://HOST:PORT/DATABASE")
            }
            return try makers.named(name, String(parts[1]))
        }
        return try Engines(Tool.current.engines.providers + providers)
    }

    /// Checks that the kill flag is in a file, if it is needed.
    ///
    /// - Throws: a usage error if flags come from a provider, because no process would read the file.
    func requireKillFlag(users: [String]?, by: KillOptions.Trigger) throws {
        guard flagProvider == nil || by != .flag && users == nil else {
            throw CommandFailure.usage(
                "\(Tool.name) reads the kill flag from its provider, not from a file: set it and take it back there; the sentinel file "
                    + "is for everybody"
            )
        }
    }

    /// How often a running command checks the flags for its user.
    private static let pollSeconds = 1.0

    /// Only `rollout advance` moves users forward, not any command that opens them. Commands print their own messages.
    private static var rolloutOptions: RolloutOptions {
        var options = RolloutOptions()
        options.advancesByItself = false
        options.advanceSeconds = pollSeconds
        options.logger.logLevel = .critical
        options.migrationPlan = Tool.current.plan
        Tool.current.command.configure(&options)
        return options
    }

    private static func configurationFile(
        _ options: UserOptions,
        _ environment: [String: String],
        _ home: String
    ) -> String? {
        if let path = options.config { return path }
        let folder = environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? home + "/.config"
        let path = folder + "/\(Tool.name)/config.json"
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }

    private static func value(_ option: String?, _ key: ConfigKey, _ reader: ConfigReader) async throws -> String? {
        if let option { return option }
        return try await reader.fetchString(forKey: key)
    }

    /// In a file, no shell has expanded `~`.
    private static func expanded(_ path: String, _ home: String) -> String {
        path.hasPrefix("~/") ? home + path.dropFirst() : path
    }
}

/// The configuration file, a JSON object of strings.
enum ConfigurationFile {
    static let keys: Set<String> = [
        "root", "storeName", "user", "flags", "servers", "policy", "evidenceKeyFile", "timeZone", "openUsers",
    ]

    /// Reads the file.
    ///
    /// A wrong key or value is refused and not ignored: a misspelt `user` would write into another user's store.
    static func load(path: String) async throws -> any ConfigProvider {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw HabitStoreError(.notFound, "there is no configuration file here", at: .init(path: path))
        }
        guard !isDirectory.boolValue else {
            throw failure(path, "this is a folder; name the configuration file in it")
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw HabitStoreError(.permissionDenied, "the configuration file cannot be read", at: .init(path: path))
        }
        let document: Any
        do {
            document = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
        } catch {
            let reason = (error as NSError).userInfo["NSDebugDescription"] as? String ?? error.localizedDescription
            throw failure(path, "the configuration file is not JSON: \(reason)")
        }
        guard let members = document as? [String: Any] else {
            throw failure(path, "the configuration file must contain a JSON object")
        }
        for key in members.keys.sorted() {
            guard keys.contains(key) else {
                throw failure(
                    path,
                    "the configuration file has the unknown key \"\(key)\"; there are \(keys.sorted().joined(separator: ", "))"
                )
            }
            guard members[key] is String else {
                throw failure(path, "the value of \"\(key)\" in the configuration file must be a string")
            }
        }
        do {
            return try await FileProvider<JSONSnapshot>(filePath: .init(path))
        } catch {
            throw failure(path, "the configuration file cannot be understood: \(error)")
        }
    }

    private static func failure(_ path: String, _ message: String) -> CommandFailure {
        .usage("\(path): \(message)")
    }
}
