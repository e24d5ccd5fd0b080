import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier

extension UserStores {
    /// The result of a migration for one of a user's stores.
    package struct MigratedStore: Sendable {
        package let engine: EngineName
        /// Its version now; nil if unknown.
        package let version: Schema.Version?
        /// Why it does not have the current version; nil if it does.
        package let failure: HabitStoreError?
    }

    /// Migrates all stores of a user to the current version of the schema: the serving one, as an opening does, and the following or left one, for
    /// which no opening waits.
    ///
    /// - Returns: notes, the serving store's token, and each store's state afterwards.
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores; what is wrong with the serving store.
    package func migrate(
        _ user: String
    ) throws -> (notes: [String], token: HistoryToken, stores: [MigratedStore]) {
        let directory = try known(user)
        let store = try store(for: user, finishesMigration: true, mayBegin: false)
        // Closed with its last reference, since the app may have it too.
        defer { withExtendedLifetime(store) {} }
        let lease = try store.files.lease()
        var failures: [EngineName: HabitStoreError] = [:]
        try lease.user.recoverBoth()
        let actual = try lease.user.recheck().actual
        do {
            try lease.user.migrateFollower(actual.other, beside: actual)
        } catch let error as HabitStoreError {
            failures[actual.other] = error
        }
        let stores = engines.names.compactMap { migrated($0, of: directory, failures[$0]) }
        return (store.notes, try store.currentToken(), stores)
    }

    /// - Returns: nil if there is no such store.
    private func migrated(
        _ engine: EngineName,
        of directory: UserDirectory,
        _ failure: HabitStoreError?
    ) -> MigratedStore? {
        let (engines, address) = (engines, engines.address(engine, of: directory))
        do {
            let version: Schema.Version? = try Deadline.run(seconds: options.stepLimitSeconds, path: address.path) {
                [plan = options.migrationPlan] _ in
                guard try engines.identity(of: address) != nil else { return nil }
                guard let plan else { return try engines.outline(address).version }
                return try StoreMigrator(address, engines: engines, plan: plan).version()
            }
            guard let version else { return nil }
            let missing = HabitStoreError(
                .migrationRequired,
                "the store is of schema version \(version), and this program's is \(schema.version)",
                at: .init(path: address.path)
            )
            return MigratedStore(
                engine: engine,
                version: version,
                failure: version == schema.version ? nil : failure ?? missing
            )
        } catch {
            let failure =
                error as? HabitStoreError ?? HabitStoreError(.inputOutput, "\(error)", at: .init(path: address.path))
            return MigratedStore(engine: engine, version: nil, failure: failure)
        }
    }
}

/// A copy of a user's store that a migration made before it changed the store.
///
/// Migrations never remove one. It is the way back to the earlier version, and takes as much room as the store did then.
public struct MigrationCopy: Sendable, Hashable {
    /// How long copies are kept by default: 30 days.
    public static let retentionSeconds: Double = 30 * 24 * 3_600

    /// The engine of the store and of the copy.
    public let engine: EngineName
    /// The schema version that the store had.
    public let version: Schema.Version
    /// The token that the store had.
    public let token: HistoryToken
    /// The copy's file.
    public let path: String
    /// The file's size.
    public let sizeBytes: Int
    /// When the copy was made.
    public let made: Date
    /// Why the copy is the only way to its records, so that it is kept regardless of its age; nil if it is not.
    public let neededBecause: String?
}

extension UserStores {
    /// The copies that migrations made of a user's stores, the oldest first. Only copies in files are found: a server does not list the names of its
    /// stores.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without a folder.
    public func migrationCopies(of user: String) throws -> [MigrationCopy] {
        let directory = try directory(of: user)
        guard BackupFiles.exists(directory.path) else { throw missing(user) }
        try directory.requireOwn()
        let names = try BackupFiles.names(directory.path)
        let latest = latestVersion(directory)
        return engines.names.flatMap { engine -> [MigrationCopy] in
            guard (try? engines.provider(engine)) is any FileEngineProvider else { return [] }
            let store = engines.address(engine, of: directory)
            return names.compactMap { copy(of: store, in: directory.path + "/" + $0, latest) }
        }
        .sorted { ($0.made, $0.path) < ($1.made, $1.path) }
    }

    /// Removes the copies that migrations made of a user's stores, once they are old enough. A copy is kept if none of the user's stores has a later
    /// version, or none can be read.
    ///
    /// - Returns: the removed copies.
    /// - Throws: the errors of ``migrationCopies(of:)``; ``HabitStoreError/Code/inputOutput`` for a file that cannot be removed.
    public func removeMigrationCopies(
        of user: String,
        olderThanSeconds age: Double = MigrationCopy.retentionSeconds
    ) throws -> [MigrationCopy] {
        let limit = Date(timeIntervalSinceNow: -age)
        let copies = try migrationCopies(of: user).filter {
            $0.made <= limit && $0.neededBecause == nil
        }
        for copy in copies {
            let provider = try engines.provider(copy.engine) as? any FileEngineProvider
            // Including the files that an engine adds when a program opens the copy.
            for ending in (provider?.sidecars ?? []) + [""] { try BackupFiles.remove(copy.path + ending) }
        }
        return copies
    }

    /// The latest version of the user's stores; nil if none can be read.
    private func latestVersion(_ directory: UserDirectory) -> Schema.Version? {
        let (engines, plan) = (engines, options.migrationPlan)
        return engines.names.compactMap { engine in
            let address = engines.address(engine, of: directory)
            // Does not wait for a store that hangs.
            return try? Deadline.run(seconds: options.stepLimitSeconds, path: address.path) { _ in
                try engines.storedSchema(of: address, plan: plan).version
            }
        }.max()
    }

    /// The copy at a path, whose name `StoreMigrator` built from the store's name, its version and its token; nil for any other file.
    private func copy(of store: StoreAddress, in path: String, _ latest: Schema.Version?)
        -> MigrationCopy?
    {
        let prefix = store.path + "-"
        let parts = path.dropFirst(prefix.count).components(separatedBy: "-at-")
        guard path.hasPrefix(prefix), parts.count == 2, let token = Int64(parts[1]),
            let version = Schema.Version(parsing: parts[0])
        else { return nil }
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        #if canImport(Darwin)
        let made = status.st_mtimespec.tv_sec
        #else
        let made = status.st_mtim.tv_sec
        #endif
        return MigrationCopy(
            engine: store.engine,
            version: version,
            token: HistoryToken(rawValue: token),
            path: path,
            sizeBytes: Int(status.st_size),
            made: Date(timeIntervalSince1970: Double(made)),
            neededBecause: latest.map { $0 > version ? nil : "the user's stores are of version \($0)" }
                ?? "none of the user's stores can be read"
        )
    }
}

extension UserStores {
    /// Compares a user's two stores by their kept digests, from two read snapshots. Reads records only where digests differ, and writes nothing.
    ///
    /// - Returns: nil if no store follows the serving one.
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores; why a store cannot be read, or none is known to be current.
    package func quickComparison(of user: String) throws -> VerificationReport? {
        let pair = StorePair(
            directory: try known(user, makesFolder: false),
            schema: schema,
            access: .readOnly,
            engines: engines
        )
        defer { pair.close() }
        let serving = try current(pair)
        guard let state = serving.state, state.stage.mirror != nil else { return nil }
        let other = state.engines.other(than: serving.engine)
        var options = VerificationOptions()
        options.depth = .keptDigests
        return try ShadowVerifier(
            .init(name: "\(serving.engine.rawValue) (current)", store: try pair.store(serving.engine)),
            .init(name: "\(other.rawValue) (other)", store: try pair.store(other)),
            options: options
        ).run()
    }
}
