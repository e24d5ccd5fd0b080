import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import Testing

/// A test's folder, which is deleted with this object.
final class MigrationFolder {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("migration-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// The files in the folder, and their bytes.
    func contents() throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            contents[name] = try Data(contentsOf: URL(fileURLWithPath: file(name)))
        }
        return contents
    }
}

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
