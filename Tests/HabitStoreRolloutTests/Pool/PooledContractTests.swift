import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreSQLite
@_spi(Engines) import HabitStoreTesting
import StandardEngines
import Synchronization
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// A user's store whose files are closed before each operation: it must keep the contract like any other.
private final class ReopenedStore: EngineBackedStore {
    private let stores: UserStores
    private let store: UserStore
    /// Another handle of the same file, for clauses of the contract about a store's file.
    private let direct: Mutex<EngineStore<SQLiteEngine>?>
    private let address: StoreAddress
    private let identity: UUID
    private let now: @Sendable () -> Date

    init(_ folder: URL, _ schema: Schema, _ identity: UUID, _ now: @escaping @Sendable () -> Date) throws {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.maximumOpenUsers = 1
        options.logger.logLevel = .critical
        options.opener = { address, access, schema in
            try SQLiteHabitStore(
                path: address.path,
                schema: schema,
                options: .init(createsFile: access == .create, identity: identity, now: now)
            )
        }
        stores = try UserStores(root: folder.path, flags: nil, schema: schema, options: options)
        store = try stores.store(for: "alice")
        address = try UserDirectory(root: folder.path, user: "alice").address(.sqlite)
        direct = Mutex(nil)
        (self.identity, self.now) = (identity, now)
    }

    var schema: Schema { store.schema }
    var dispatcher: StoreDispatcher { store.dispatcher }

    var core: EngineStore<SQLiteEngine> {
        direct.withLock { direct in
            if let direct { return direct }
            do {
                let opened = try SQLiteHabitStore(
                    path: address.path,
                    schema: schema,
                    options: .init(identity: identity, now: now)
                ).core
                direct = opened
                return opened
            } catch {
                fatalError("the file cannot be opened next to the user's store: \(error)")
            }
        }
    }

    /// Other operations may be in progress, and then the user stays open.
    private func closeFiles() { for _ in 0..<2 { _ = store.files.closeForAnother(isPatient: true) } }

    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        closeFiles()
        return try store.read(body)
    }

    func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        closeFiles()
        return try store.write(author: author, body)
    }

    func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        closeFiles()
        return try await store.read(body)
    }

    func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        closeFiles()
        return try await store.write(author: author, body)
    }

    func close() {
        store.close()
        // This also closes it if no clause opened it.
        core.engine.close()
    }
}

@Suite("A user closed before each operation: the contract of every store")
struct PooledContractTests {
    private static let subject = StoreUnderTest(name: "a user's store, reopened", isDurable: true) {
        try ReopenedStore($0, $1, $2, $3)
    }

    /// Revoking the role of a user's only store takes the user's data away: that store is not on standby, and is refused.
    private static let clauses = StoreContract.clauses.filter {
        $0.name != "a store that is not authoritative refuses writes, and serves reads"
    }

    @Test(arguments: clauses)
    func keeps(_ clause: StoreContract.Clause) async throws { try await clause.verify(Self.subject) }
}
