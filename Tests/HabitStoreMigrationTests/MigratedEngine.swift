import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import Testing

/// The engines whose stores are migrated.
enum MigratedEngine: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case sqlite, lmdb

    var testDescription: String { rawValue }

    var store: any FileBackedStore.Type {
        switch self {
        case .sqlite: return SQLiteHabitStore.self
        case .lmdb: return LMDBHabitStore.self
        }
    }

    func open(_ path: String, _ schema: Schema, _ access: StoreAccess = .create) throws -> any FileBackedStore {
        try store.init(path: path, schema: schema, access: access)
    }

    @discardableResult
    func migrate(
        _ path: String,
        _ plan: any SchemaMigrationPlan.Type,
        progress: (Int, Int) throws -> Void = { _, _ in }
    ) throws -> MigrationOutcome {
        let clock = Date(timeIntervalSinceReferenceDate: 800_000_000)
        return try StoreMigrator(store, path: path, plan: plan, now: { clock }).run { try progress($0.done, $0.total) }
    }

    func outline(_ path: String) throws -> StoreOutline { try store.outline(ofStoreAt: path) }
}

extension EngineBackedStore {
    /// The digest of each entity, from the kept digests.
    func digests() throws -> [RecordDigest] {
        try core.engine.read { snapshot in
            try schema.entities.indices.map { entity in
                try (snapshot.digestLeaves(entity: entity) ?? []).reduce(into: RecordDigest()) { $0 += $1.digest }
            }
        }
    }

    /// The whole history.
    func history() throws -> [HistoryTransaction] { try read { try $0.fetchHistory(after: .zero) } }
}
