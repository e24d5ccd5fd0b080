import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitStoreTesting

/// The stores on which models are tested.
enum TestedStore: String, CaseIterable, CustomStringConvertible {
    case memory, sqlite, lmdb

    /// Those whose records are in files.
    static let files = [sqlite, lmdb]

    var description: String { rawValue }

    func open(
        in folder: TemporaryFolder,
        _ schema: Schema
    ) throws -> any HabitStore & MaintainableStore & ReplicableStore {
        switch self {
        case .memory: return try InMemoryHabitStore(schema: schema)
        case .sqlite: return try SQLiteHabitStore(path: folder.path("store.sqlite"), schema: schema)
        case .lmdb: return try LMDBHabitStore(path: folder.path("store.lmdb"), schema: schema)
        }
    }
}
