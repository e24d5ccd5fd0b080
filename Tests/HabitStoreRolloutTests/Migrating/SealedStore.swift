import Foundation
@_spi(Engines) import HabitStore
import StandardEngines
import Synchronization
import Testing

@testable import HabitStoreRollout

/// A store whose closed file no engine recognises, as with encryption: its first bytes are inverted.
final class SealedStore: MaintainableStore, ReplicableStore {
    private let base: any UserStoreBackend
    private let address: StoreAddress
    private let isOpen = Mutex(true)

    init(_ address: StoreAddress, _ access: StoreAccess, _ schema: Schema) throws {
        self.address = address
        if FileManager.default.fileExists(atPath: address.path) { try Self.toggleSeal(address.path) }
        do {
            base = try address.open(access, schema: schema)
        } catch {
            try Self.toggleSeal(address.path)
            throw error
        }
    }

    /// Seals or unseals the file of a closed store.
    static func toggleSeal(_ path: String) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        defer { file.closeFile() }
        let head = try #require(try file.read(upToCount: 24))
        try file.seek(toOffset: 0)
        try file.write(contentsOf: Data(head.map { ~$0 }))
    }

    var schema: Schema { base.schema }
    var dispatcher: StoreDispatcher { base.dispatcher }
    var path: String? { base.path }

    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R { try base.read(body) }

    func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws -> R {
        try base.read(while: condition, body)
    }

    func write<R>(author: String?, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try base.write(author: author, body)
    }

    func write<R>(author: String?, under terms: WriteTerms, _ body: (any WriteTransaction) throws -> R) throws -> R {
        try base.write(author: author, under: terms, body)
    }

    func read<R: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> R) async throws -> R {
        try await dispatcher.read { try self.read(body) }
    }

    func write<R: Sendable>(
        author: String?,
        _ body: @escaping @Sendable (any WriteTransaction) throws -> R
    ) async throws -> R {
        try await dispatcher.write { attempt in try self.write(author: author, attempt.guarding(body)) }
    }

    func replicaRead<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R { try base.replicaRead(body) }

    func replicate<R>(_ body: (any ReplicaTransaction) throws -> R) throws -> R { try base.replicate(body) }

    func migrate(
        _ stage: MigrationStage,
        timestamp: Date,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> MigrationStep {
        try base.migrate(stage, timestamp: timestamp, progress: progress)
    }

    func checkDigests() throws -> [StoreFinding] { try base.checkDigests() }

    func rebuildDigests() throws { try base.rebuildDigests() }

    func check(progress: (Int) throws -> Void) throws -> [StoreFinding] { try base.check(progress: progress) }

    func backup(to path: String) throws { try base.backup(to: path) }

    func close() {
        guard
            isOpen.withLock({ isOpen in
                defer { isOpen = false }
                return isOpen
            })
        else { return }
        base.close()
        do { try Self.toggleSeal(address.path) } catch { Issue.record(error) }
    }
}
