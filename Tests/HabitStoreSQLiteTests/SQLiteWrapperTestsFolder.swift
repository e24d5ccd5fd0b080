import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreSQLite

extension TemporaryFolder {
    /// The path of a file in this folder.
    func file(_ name: String = "store.sqlite") -> String { path(name) }

    /// A new store with one table of integers.
    func makeStore(_ name: String = "store.sqlite", options: SQLiteOptions = SQLiteOptions()) throws -> SQLiteDatabase {
        let database = try SQLiteDatabase(path: file(name), mode: .create, options: options)
        try database.withWrite { try $0.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, n ANY) STRICT") }
        return database
    }

    /// Creates a store with `rows` rows, closes it, and returns its path.
    func makeClosedStore(rows: Int, _ name: String = "store.sqlite") throws -> String {
        let database = try makeStore(name)
        try database.insert(rows: rows)
        try database.close()
        return file(name)
    }
}

extension SQLiteDatabase {
    /// Inserts rows of about 200 bytes in one transaction.
    func insert(rows: Int) throws {
        try withWrite { connection in
            let filling = String(repeating: "x", count: 200)
            for _ in 0..<rows {
                try connection.withStatement("INSERT INTO t (n) VALUES (?1)") { statement in
                    try statement.bind(filling, at: 1)
                    try statement.run()
                }
            }
        }
    }

    /// The number of rows, in a separate snapshot.
    func rowCount() throws -> Int64 {
        try withRead { try #require(try $0.int64("SELECT count(*) FROM t")) }
    }
}

/// Expects a `HabitStoreError` with that code.
func expectSQLiteWrapperError(
    _ code: HabitStoreError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) throws {
    _ = try requireSQLiteWrapperError(code, sourceLocation: sourceLocation, body)
}

/// Expects a `HabitStoreError` with that code, and returns it.
func requireSQLiteWrapperError(
    _ code: HabitStoreError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) throws -> HabitStoreError {
    let error = #expect(throws: HabitStoreError.self, sourceLocation: sourceLocation) { try body() }
    let found = try #require(error, sourceLocation: sourceLocation)
    #expect(found.code == code, "\(found)", sourceLocation: sourceLocation)
    return found
}
