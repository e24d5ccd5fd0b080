import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite

/// The stores on which models are tested.
enum TestedStore: String, CaseIterable, CustomStringConvertible {
    case memory, sqlite, lmdb

    /// Those whose records are in files.
    static let files = [sqlite, lmdb]

    var description: String { rawValue }

    func open(
        in folder: TestFolder,
        _ schema: Schema
    ) throws -> any HabitStore & MaintainableStore & ReplicableStore {
        switch self {
        case .memory: return try InMemoryHabitStore(schema: schema)
        case .sqlite: return try SQLiteHabitStore(path: folder.path("store.sqlite"), schema: schema)
        case .lmdb: return try LMDBHabitStore(path: folder.path("store.lmdb"), schema: schema)
        }
    }
}

/// A folder that is deleted with this object.
final class TestFolder: Sendable {
    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("macros-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
