import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import RawStoreFiles

@testable import HabitStoreSQLite

/// The model; Swift Testing has a type of the same name.
typealias HabitTag = Tag

/// A new store in a separate folder, which is deleted with this value.
struct SQLiteTestStore {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file()
    }

    func open(_ options: SQLiteHabitStore.Options = .init()) throws -> SQLiteHabitStore {
        try SQLiteHabitStore(path: path, schema: HabitSchema.current, options: options)
    }

    /// Closes a store of this file; this also keeps the folder until then.
    func close(_ store: SQLiteHabitStore) { store.close() }

    /// Creates the store and fills it, then closes it.
    func make(_ fill: (any WriteTransaction) throws -> Void = { _ in }) throws {
        let store = try open()
        try store.write(fill)
        store.close()
    }

    /// The names of the store's tags, read as an app reads them.
    func names() throws -> [String] {
        let store = try open()
        defer { store.close() }
        return try store.all(HabitTag.self).map(\.name).sorted()
    }

    /// Replaces the store's files, without SQLite.
    func put(_ file: Data, _ log: Data, sharedMemory: Data? = nil) throws {
        for (suffix, data) in [("", file), ("-wal", log), ("-shm", sharedMemory)] {
            let url = URL(fileURLWithPath: path + suffix)
            if let data { try data.write(to: url) } else { try? FileManager.default.removeItem(at: url) }
        }
    }

    /// Runs SQL on the file through a separate connection, as a shell would. Hazard: only while no store is open.
    func sql(_ statements: String) throws {
        let connection = try SQLiteConnection(path: path, mode: .readWrite)
        try connection.exec(statements)
        connection.close()
    }

    /// Runs SQL on the file as the stock shell does, which may write the schema. Hazard: see ``sql(_:)``.
    func shell(_ statements: String) throws { try RawDatabase(path: path).execute(statements) }

    /// Marks the Unicode form of the store's text as unknown, as in a store of an older version.
    func makeOlder(_ statements: String = "") throws {
        try sql("DELETE FROM habitstore_metadata WHERE key = 'textForm'; \(statements)")
    }
}

/// The identifier whose last byte is the number, and whose other bytes are 0.
func testID(_ number: UInt8) -> UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number)) }
