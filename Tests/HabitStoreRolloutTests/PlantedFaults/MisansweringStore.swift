import Foundation
import HabitStoreRollout

@_spi(Engines) @testable import HabitStore

/// A store that answers like its base store, except for a ``Misanswer``.
final class MisansweringStore: MaintainableStore, ReplicableStore {
    private let base: any UserStoreBackend
    private let misanswer: Misanswer

    init(_ base: any UserStoreBackend, _ misanswer: Misanswer) {
        self.base = base
        self.misanswer = misanswer
    }

    var schema: Schema { base.schema }
    var dispatcher: StoreDispatcher { base.dispatcher }
    var path: String? { base.path }

    func read<R>(_ body: (any ReadTransaction) throws -> R) throws -> R {
        try base.read { try body(MisansweringTransaction($0, misanswer)) }
    }

    func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws -> R {
        try base.read(while: condition) { try body(MisansweringTransaction($0, misanswer)) }
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

    func checkDigests() throws -> [StoreFinding] { try base.checkDigests() }

    func rebuildDigests() throws { try base.rebuildDigests() }

    func migrate(
        _ stage: MigrationStage,
        timestamp: Date,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> MigrationStep {
        try base.migrate(stage, timestamp: timestamp, progress: progress)
    }

    func check(progress: (Int) throws -> Void) throws -> [StoreFinding] { try base.check(progress: progress) }

    func backup(to path: String) throws { try base.backup(to: path) }

    func close() { base.close() }
}
