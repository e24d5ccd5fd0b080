import FeatureFlags
import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier
import Synchronization

/// The stores of all users under one root.
///
/// ```swift
/// let stores = try UserStores(root: "/var/lib/habits", flags: "/etc/habits/flags.json", schema: HabitSchema.current)
/// let store = try stores.store(for: "alice")
/// try store.save(Habit(name: "Run"))
/// ```
///
/// A user's two stores decide where the user is; the flag file only proposes. No user ever sees an empty or older store, and a missing or broken flag
/// file moves no user.
public final class UserStores: Sendable {
    let place: StoreRoot
    /// The root of these stores: the root itself, or a folder in it for named stores.
    let root: String
    /// The folder of all users' folders.
    let folder: String
    let schema: Schema
    let engines: Engines
    let options: RolloutOptions
    let flags: FlagWatch
    /// The flag file's path; nil if the flags come from elsewhere, or there are none.
    let flagFile: String?
    private let queries: [QueryFile.Query]
    let metrics: RolloutMetrics
    private let writeTimes: WriteTimes
    private let pool: UserPool
    let handles = Mutex(UserHandles())

    /// Stores under `root`.
    ///
    /// - Parameters:
    ///   - store: the name of one of several stores of each user under the root, see <doc:SeveralStores>; nil for the unnamed one.
    ///   - flags: the source of the flags.
    ///   - engines: the engines that users may be on. ``RolloutFlags/old`` and ``RolloutFlags/new`` name two of them; without these flags, the first
    ///     two are used.
    ///   - queries: the queries that a verification compares, in addition to counts, relationships and contents.
    /// - Throws: ``HabitStoreError/Code/limitExceeded`` if too few files can be opened; ``HabitStoreError/Code/invalidValue`` for an invalid store
    ///   name; an error if no file can have the root's path.
    public convenience init(
        root: String,
        store: String? = nil,
        flags: FlagOrigin,
        engines: Engines,
        schema: Schema,
        queries: [QueryFile.Query] = [],
        options: RolloutOptions = RolloutOptions()
    ) throws {
        try self.init(
            root: root,
            store: store,
            origin: flags,
            engines: engines,
            schema: schema,
            queries: queries,
            options: options
        )
    }

    /// The same with a flag file.
    ///
    /// - Parameter flags: the path of the flag file; nil for none.
    public convenience init(
        root: String,
        store: String? = nil,
        flags: String?,
        engines: Engines,
        schema: Schema,
        queries: [QueryFile.Query] = [],
        options: RolloutOptions = RolloutOptions()
    ) throws {
        try self.init(
            root: root,
            store: store,
            origin: flags.map { .file($0) },
            engines: engines,
            schema: schema,
            queries: queries,
            options: options
        )
    }

    /// The same, for callers that may have no flags.
    package init(
        root: String,
        store name: String?,
        origin: FlagOrigin?,
        engines: Engines,
        schema: Schema,
        queries: [QueryFile.Query],
        options: RolloutOptions
    ) throws {
        try options.validate()
        if let plan = options.migrationPlan { try Self.requireEnd(of: plan, schema) }
        try DispatchTimers.prepare()
        let place = try StoreRoot(root, named: name)
        self.place = place
        self.root = place.path
        flagFile = origin?.path
        folder = UserDirectory.folder(root: place.path)
        self.schema = schema
        let engines = engines.naming(place.name?.text)
        self.engines = options.opener.map(engines.opening(by:)) ?? engines
        self.queries = queries
        self.options = options
        metrics = RolloutMetrics(engines, store: place.name?.text)
        writeTimes = WriteTimes(root: place.path)
        pool = UserPool(
            limit: options.maximumOpenUsers ?? RolloutOptions.defaultMaximumOpenUsers(engines),
            waitSeconds: options.placeWaitSeconds,
            metrics: metrics
        )
        for provider in engines.providers { provider.limitCaches(toBytes: options.cacheBudgetBytes) }
        let killSwitch = KillSwitch(place)
        flags = try FlagWatch(
            killSwitch,
            keys: place.flags,
            origin: origin,
            options: options,
            onLook: { [metrics] in metrics.killIsEngaged(killSwitch.isEngaged) }
        )
    }

    /// A plan that ends with another version would migrate users to a version that these stores do not open.
    private static func requireEnd(of plan: any SchemaMigrationPlan.Type, _ schema: Schema) throws {
        let end = try plan.current().version
        guard end != schema.version else { return }
        throw HabitStoreError(
            .schemaMismatch,
            "the schema has version \(schema.version), but the migration plan \(plan) ends with version \(end); pass the schema that it ends with"
        )
    }

    /// A user's store; all callers in this process get the same one while it is in use.
    ///
    /// An app may keep stores of all its users: files are open only for the most recent ones, at most ``RolloutOptions/maximumOpenUsers``, and the
    /// next operation of any other user opens them again.
    ///
    /// If ``RolloutFlags/backend`` wants the user on another engine, the user is switched first: the other store is brought to the current one's
    /// token, verified against it while writes wait, and only then served. If the verification is not clean, the user stays, and ``UserStore/notes``
    /// has the reason.
    ///
    /// - Parameters:
    ///   - attributes: attributes of the user, in addition to the id, for targeting rules; nil for those given before. For an open user they replace
    ///     the earlier ones, and the next operation evaluates the flags with them.
    ///   - progress: called with the progress of a switch of engines.
    /// - Throws: what is wrong with the user's current store; an older one is never served instead.
    public func store(
        for user: String,
        attributes: [String: FlagValue]? = nil,
        progress: (String, Int, Int) -> Void = { _, _, _ in }
    ) throws -> UserStore {
        try store(for: user, attributes, finishesMigration: false, mayBegin: true, progress)
    }

    /// The store of an existing user: ``store(for:attributes:progress:)`` makes a store for any other id, and recreates a user who was erased.
    ///
    /// Use it for tools that only read, and for ids that a person typed. Otherwise it opens the user in the same way: the user is moved if the flags
    /// say so.
    ///
    /// - Parameters:
    ///   - attributes: attributes of the user, in addition to the id, for targeting rules; nil for those given before.
    ///   - progress: called with the progress of a switch of engines.
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores, for whom nothing is created; what is wrong with the user's current
    ///   store.
    public func existingStore(
        for user: String,
        attributes: [String: FlagValue]? = nil,
        progress: (String, Int, Int) -> Void = { _, _, _ in }
    ) throws -> UserStore {
        try requireStores(of: user)
        return try store(for: user, attributes, finishesMigration: false, mayBegin: false, progress)
    }

    private func requireStores(of user: String) throws {
        let directory = try known(user)
        let hasStores = engines.names.contains { engine in
            // A store that cannot be checked now counts as existing.
            do { return try engines.identity(of: engines.address(engine, of: directory)) != nil } catch { return true }
        }
        guard hasStores || Restoration.isBegun(directory) else { throw missing(user) }
    }

    /// - Parameters:
    ///   - finishesMigration: whether to finish a migration that stopped between the two stores even if the user could be served without.
    ///   - mayBegin: whether to create the store of a new user.
    func store(
        for user: String,
        _ attributes: [String: FlagValue]? = nil,
        finishesMigration: Bool,
        mayBegin: Bool,
        _ progress: (String, Int, Int) -> Void = { _, _, _ in }
    ) throws -> UserStore {
        let directory = try directory(of: user)
        var shape = finishesMigration ? StoreShape.migrating : .current
        var refused: UserStore?
        while true {
            let known = refused?.files.context.subject.context.attributes ?? attributes
            let store = handles.withLock { handles in
                // Other callers that found the same get the same store.
                if let store = handles[user], store !== refused, !store.files.isClosed {
                    if let attributes { store.files.take(attributes) }
                    return store
                }
                let store = UserStore(UserFiles(makeContext(directory, shape, known ?? [:]), pool))
                handles[user] = store
                return store
            }
            refused?.close()
            if mayBegin { store.files.context.mayBegin.store(true, ordering: .relaxed) }
            do {
                try store.files.begin(progress)
                return store
            } catch {
                guard refused == nil, let other = otherShape(of: directory, after: error) else { throw error }
                (refused, shape) = (store, other)
            }
        }
    }

    /// Takes a user back now, if the kill switch is pulled for the user and that was not done yet; for code that takes back many users. Stores of any
    /// version are accepted unchanged.
    ///
    /// - Returns: whether the user is killed, whether there is evidence that could not be written yet, and whether the new store served before.
    /// - Throws: the errors of ``UserStore/applyKill()``; ``HabitStoreError/Code/notFound`` for a user without stores.
    package func applyKill(_ user: String) throws -> (isKilled: Bool, owesEvidence: Bool, hasLeftNew: Bool) {
        let directory = try known(user)
        let stage = (try? ControlFile.copy(of: directory.path + "/control"))?.stage
        func apply(_ shape: StoreShape) throws -> (isKilled: Bool, owesEvidence: Bool, hasLeftNew: Bool) {
            let (isKilled, owesEvidence) = try applyKill(directory, shape)
            return (isKilled, owesEvidence, isKilled && stage?.authority == .new)
        }
        var failure: any Error
        do {
            return try apply(.current)
        } catch {
            failure = error
        }
        for shape in shapesForKill(directory, after: failure) {
            do {
                return try apply(shape)
            } catch {
                failure = error
            }
        }
        throw RecordedKill.described(failure, of: directory)
    }

    /// The other shapes in which to try a kill that failed in the current one. The stores' status reads the same in each; both stores need the same
    /// version only if one has to be brought up to date from the other.
    private func shapesForKill(_ directory: UserDirectory, after error: any Error) -> [StoreShape] {
        let error = error as? HabitStoreError
        guard options.otherVersions != .migrated, error?.code != .busy else { return [] }
        let stored = storedSchemas(of: directory)
        guard let latest = stored.max(by: { $0.version < $1.version }) else { return [] }
        let each = StoreShape.eachAsWritten(Schema(shapes: latest.entities, version: latest.version))
        switch otherShape(of: directory, stored) {
        case .migrating?: return [.migrating, each]
        case _ where stored.contains { $0.version != latest.version }: return [each]
        case let shape?: return [shape]
        // An app may have migrated the user meanwhile.
        case nil: return error?.code == .schemaMismatch && latest == StoredSchema(schema) ? [.current] : []
        }
    }

    /// Works on the user's stores under the user's lock. The user's traffic, if there is any here, is not touched: it follows the control file.
    private func applyKill(_ directory: UserDirectory, _ shape: StoreShape) throws -> (
        isKilled: Bool, owesEvidence: Bool
    ) {
        let user = OpenUser(makeContext(directory, shape), Leases()) {}
        user.context.mayBegin.store(true, ordering: .relaxed)
        try pool.enter(user, directory)
        defer {
            user.end()
            user.leases.clear()
            pool.leave(user)
        }
        _ = try user.firstRoute()
        return (try user.applyKill(), user.context.evidence.owes(user.control))
    }

    /// The schemas with which to open a user's stores.
    private enum StoreShape {
        case current
        case asWritten(Schema)
        /// Each store with its own schema, and the user with the later one: enough for a kill.
        case eachAsWritten(Schema)
        /// The current schema, after finishing a migration that stopped between the two stores.
        case migrating
    }

    /// The shape in which to open stores of another version that must not be migrated; nil for none. If their versions differ, only finishing the
    /// migration reconciles them: one that the app began, to the version that is current here. Checked only if the current version does not open the
    /// stores, since most have it.
    private func otherShape(of directory: UserDirectory, after error: any Error) -> StoreShape? {
        // A store that hangs is not read again.
        guard options.otherVersions != .migrated, (error as? HabitStoreError)?.code != .busy else { return nil }
        return otherShape(of: directory, storedSchemas(of: directory))
    }

    private func otherShape(of directory: UserDirectory, _ stored: [StoredSchema]) -> StoreShape? {
        guard let latest = stored.max(by: { $0.version < $1.version }) else { return nil }
        let isBetween = stored.contains { $0.version != latest.version }
        if isBetween, latest.version == schema.version, stored.allSatisfy(isOfPlan) { return .migrating }
        guard latest != StoredSchema(schema), options.otherVersions == .asWrittenByAnyApp || isOfPlan(latest) else {
            return nil
        }
        return .asWritten(Schema(shapes: latest.entities, version: latest.version))
    }

    /// The schemas that the user's stores were written with, as far as known. Does not wait for a store that hangs.
    private func storedSchemas(of directory: UserDirectory) -> [StoredSchema] {
        let (engines, plan) = (engines, options.migrationPlan)
        return engines.names.compactMap { engine in
            let address = engines.address(engine, of: directory)
            return try? Deadline.run(seconds: options.stepLimitSeconds, path: address.path) { _ in
                try engines.storedSchema(of: address, plan: plan)
            }
        }
    }

    /// Whether this program has the schema that a store was written with, as its own or in its plan.
    func knows(_ stored: StoredSchema) -> Bool {
        stored.differences(from: StoredSchema(schema)).isEmpty && stored.version == schema.version || isOfPlan(stored)
    }

    private func isOfPlan(_ stored: StoredSchema) -> Bool {
        let version = options.migrationPlan?.schemas.first { $0.versionIdentifier == stored.version }
        return version.map { stored.differences(from: StoredSchema($0.earlierSchema)).isEmpty } ?? false
    }

    private func makeContext(
        _ directory: UserDirectory,
        _ shape: StoreShape,
        _ attributes: [String: FlagValue] = [:]
    ) -> UserContext {
        var (options, schema) = (options, schema)
        var (followerPlan, versions) = (options.migrationPlan, StorePair.Versions.current)
        switch shape {
        case .current: if options.otherVersions != .migrated { options.migrationPlan = nil }
        case .asWritten(let written): (options.migrationPlan, followerPlan, schema) = (nil, nil, written)
        case .eachAsWritten(let latest):
            versions = .eachAsWritten(options.migrationPlan)
            (options.migrationPlan, followerPlan, schema) = (nil, nil, latest)
        case .migrating: break
        }
        return UserContext(
            directory: directory,
            schema: schema,
            engines: engines,
            options: options,
            followerPlan: followerPlan,
            versions: versions,
            flags: flags,
            attributes: attributes,
            queries: queries,
            metrics: metrics,
            writeTimes: writeTimes
        )
    }

    /// The schema to open a user's stores with; the one that they were written with, if the options say so.
    func schema(of directory: UserDirectory) -> Schema {
        guard options.otherVersions == .asWrittenByAnyApp else { return schema }
        // If their versions differ, the older one has to follow.
        guard let latest = storedSchemas(of: directory).max(by: { $0.version < $1.version }),
            latest != StoredSchema(schema)
        else {
            return schema
        }
        return Schema(shapes: latest.entities, version: latest.version)
    }

    /// The number of users whose files are open, at most ``RolloutOptions/maximumOpenUsers``.
    public var openUserCount: Int { pool.figures.open }

    /// How often a user's files were closed to make room for another user.
    public var madeRoomCount: Int { pool.figures.closings }

    /// Reads the flag file and checks the sentinel files now, even if they are not watched.
    package func reloadFlags() { flags.reload() }

    /// All users who have a folder under the root, and errors for folders whose user is unknown.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if the root cannot be read.
    public func users() throws -> UserListing { try UserDirectory.all(root: root) }

    /// The addresses of a user's two stores, for comparing; the current one first. Switches and writes nothing.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if the user has no stores, or only one.
    public func addresses(of user: String) throws -> (current: StoreAddress, other: StoreAddress) {
        let (directory, status) = try current(of: user)
        let current = engines.address(status.engine, of: directory)
        let pair = status.state?.engines ?? engines.pair(old: status.engine)
        let other = engines.address(pair.other(than: status.engine), of: directory)
        guard try engines.identity(of: other) != nil else {
            throw HabitStoreError(
                .notFound,
                "this user has a \(current.engine.rawValue) store only; there is nothing to compare it with",
                at: .init(path: current.path)
            )
        }
        return (current, other)
    }

    /// The addresses of a user's existing stores, of any version. Switches and writes nothing.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if the user has none.
    public func existingAddresses(of user: String) throws -> [StoreAddress] {
        let directory = try directory(of: user)
        try ErasureTombstone(directory).requireNone()
        let addresses = try engines.names.map { engines.address($0, of: directory) }
            .filter { try engines.identity(of: $0) != nil }
        guard !addresses.isEmpty else { throw missing(user) }
        return addresses
    }

    /// A user's folder.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an invalid user id.
    func directory(of user: String) throws -> UserDirectory {
        try UserDirectory(folder: folder, user: user, store: place.name)
    }

    func missing(_ user: String) -> HabitStoreError {
        NoSuchUser(user: user, root: root).error
    }

    /// The address of the store with a user's current data. Switches and writes nothing.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if the user has no stores.
    public func currentAddress(of user: String) throws -> StoreAddress {
        let (directory, status) = try current(of: user)
        return engines.address(status.engine, of: directory)
    }

    private func current(of user: String) throws -> (UserDirectory, ReplicaStatus) {
        let directory = try directory(of: user)
        try ErasureTombstone(directory).requireNone()
        try Restoration.requireNone(directory)
        let pair = StorePair(directory: directory, schema: schema, access: .readOnly, engines: engines)
        defer { pair.close() }
        return (directory, try current(pair))
    }

    /// The status of the store with a user's current data.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if the user has no stores; why none is known to be current.
    func current(_ pair: StorePair) throws -> ReplicaStatus {
        let directory = pair.directory
        let check = StatusCheck(directory, try ControlFile.copy(of: directory.path + "/control"))
        let found = pair.statuses()
        let between = pair.engines(found.statuses, preferring: engines.pair())
        guard let status = try AuthorityResolution(found, between, check, isKilled: false).current else {
            throw missing(directory.user)
        }
        return status
    }
}

extension UserStores {
    /// Removes the record that the kill switch was pulled for all users. The users are re-armed one by one, with ``UserStore/rearm(by:)``.
    ///
    /// For named stores, this concerns their own kill switch. The root's kill switch applies to all stores, and is re-armed through the unnamed ones.
    ///
    /// - Returns: whether it had been pulled.
    /// - Throws: ``HabitStoreError/Code/unsupported`` while a sentinel file exists, or the root is not re-armed; system errors.
    @discardableResult
    public func rearmRoot() throws -> Bool {
        let wasSet = try flags.killSwitch.rearm()
        metrics.killIsEngaged(flags.killSwitch.isEngaged)
        return wasSet
    }
}
