import Configuration
import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import ShadowVerifier

/// Where the stores are, whose they are, and how days are counted: from the command line, else the environment, else
/// the configuration file, else the defaults.
package struct Settings {
    package static let flagFileName = "habit-store.flagd.json"
    static let policyFileName = "habit-store.policy.json"

    /// The folder of all stores of all users.
    package let home: String
    /// Which one of several stores of each user is meant; nil for the one without a name.
    package private(set) var store: StoreName?
    package let user: String
    /// The flag file; nil when there is none.
    package let flags: String?
    /// Where the app has its flags, where no file is named.
    let flagProvider: (any RolloutFlagProvider)?
    /// The engines that users may be on.
    package let engines: Engines
    /// The file of the gate's policy; nil where there is none, and its defaults hold.
    let policy: String?
    /// The file of the keys that evidence is sealed with; nil for none.
    let evidenceKeyFile: String?
    package let timeZone: TimeZone
    /// How many users' files may be open at once; nil for what fits into the files that this process may open.
    let openUsers: Int?

    /// Where the stores that are meant are.
    package var place: StoreRoot { StoreRoot(home, store) }

    /// The folder that these stores have to themselves.
    package var root: String { place.path }

    /// Finds the settings.
    ///
    /// - Throws: a usage error for a configuration file that cannot be understood, or an unknown time zone.
    package init(_ options: UserOptions) async throws {
        guard options.users.count < 2 else {
            throw CommandFailure.usage(
                "--user is given \(options.users.count) times, and this command is about one user"
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
                throw CommandFailure.usage("there is no time zone \"\(name)\"; write one as Europe/Berlin")
            }
            timeZone = zone
        } else {
            timeZone = .current
        }
        openUsers = try await Self.value(nil, "openUsers", reader).map { text in
            guard let count = Int(text), count > 0 else {
                throw CommandFailure.usage("openUsers is \"\(text)\"; write how many users may be open at once, from 1")
            }
            return count
        }
    }

    /// The flag file, whether it is there or not.
    var flagFile: String { flags ?? home + "/" + Self.flagFileName }

    /// The settings for each of the stores that users have under the root; these alone where one is named.
    ///
    /// - Returns: also why those with names cannot be listed: the ones without a name are where they are all the same.
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

    /// The stores with names that a user has under the root, where none is named; what is about the user as a whole is about them, too.
    ///
    /// - Throws: why they cannot be listed.
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
        guard let store else { return "nobody has stores under \(home) yet" }
        var others = self
        others.store = nil
        let names = others.ofAllStores().stores.filter(\.hasUsers).compactMap(\.store?.text)
        return "nobody has a store \(store.text) under \(home) yet; "
            + (names.isEmpty ? "there are none with names" : "there are \(names.joined(separator: ", "))")
    }

    /// Whether anybody has such a store; a folder that cannot be read is not empty.
    private var hasUsers: Bool {
        guard let listing = try? stores(otherVersions: .asWrittenByAnyApp).users() else { return true }
        return !listing.users.isEmpty || !listing.unknown.isEmpty
    }

    /// The stores under the root.
    ///
    /// - Parameters:
    ///   - gate: how much evidence promotions need.
    ///   - queries: the file of the queries that a verification compares besides.
    ///   - recorder: what gathers the queries that are asked.
    ///   - otherVersions: what is done with stores of other versions of the schema.
    ///   - followsFlags: whether the command goes on, and has to act on the flags and the kill switch as any program does.
    package func stores(
        gate: GatePolicy = GatePolicy(),
        queries: String? = nil,
        recorder: QueryRecorder? = nil,
        otherVersions: RolloutOptions.OtherVersions = .migrated,
        followsFlags: Bool = false
    ) throws -> UserStores {
        var options = Self.rolloutOptions
        options.followsFlags = followsFlags
        options.otherVersions = otherVersions
        if let openUsers { options.maximumOpenUsers = openUsers }
        options.gate = gate
        options.evidenceKeys = try evidenceKeyFile.map { try EvidenceKeys(path: $0) }
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

    /// The tool's engines, and the servers.
    private static func engines(servers: String) throws -> Engines {
        let named = servers.split(whereSeparator: \.isWhitespace)
        guard !named.isEmpty else { return Tool.current.engines }
        guard let makers = Tool.current.servers else {
            throw CommandFailure.usage("\(Tool.name) keeps no users on servers; leave the servers out")
        }
        let providers = try named.map { text in
            let parts = text.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let name = EngineName(rawValue: String(parts[0])) else {
                // Nothing of it is repeated: it may hold a password.
                throw CommandFailure.usage("a server is written as NAME=postgresql://HOST:PORT/DATABASE")
            }
            return try makers.named(name, String(parts[1]))
        }
        return try Engines(Tool.current.engines.providers + providers)
    }

    /// Makes sure that the kill flag is in a file, where it is asked for.
    ///
    /// - Throws: a usage error where flags come from a provider: nobody would read the file.
    func requireKillFlag(users: [String]?, by: KillOptions.Trigger) throws {
        guard flagProvider == nil || by != .flag && users == nil else {
            throw CommandFailure.usage(
                "the kill flag is where \(Tool.name) has its flags, and not in a file: pull it there, and take it back there; the "
                    + "sentinel file is for everybody"
            )
        }
    }

    /// The triggers of the kill switch of the stores that are meant.
    ///
    /// - Parameters:
    ///   - users: only these; nil for everybody.
    ///   - flag: another kill flag than these stores'.
    ///   - file: another flag file.
    ///   - sentinel: the sentinel file; nil if it is unknown which one the flag file's readers look for.
    ///   - makesFolder: whether its folder is made where it is missing.
    func killTriggers(
        users: [String]?,
        by: KillOptions.Trigger,
        flag: String? = nil,
        file: String? = nil,
        sentinel: String?,
        makesFolder: Bool = true
    ) throws -> KillTriggers {
        KillTriggers(
            flag: flag ?? place.flags.kill,
            file: file ?? flagFile,
            sentinel: try sentinel.map { try SentinelFile(path: $0) },
            makesFolder: makesFolder,
            by: flagProvider == nil ? by : .sentinel,
            users: users,
            store: store
        )
    }

    /// How soon a command that goes on takes its user back when the flags say so.
    private static let lookSeconds = 1.0

    /// Users are moved forward by `rollout advance`, and not by the way. What there is to tell, commands tell themselves.
    private static var rolloutOptions: RolloutOptions {
        var options = RolloutOptions()
        options.advancesByItself = false
        options.advanceSeconds = lookSeconds
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

    /// No shell has replaced the home folder's sign in a file.
    private static func expanded(_ path: String, _ home: String) -> String {
        path.hasPrefix("~/") ? home + path.dropFirst() : path
    }
}
