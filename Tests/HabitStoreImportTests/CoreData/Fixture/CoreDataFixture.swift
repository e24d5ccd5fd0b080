import CSQLite
import Foundation
import HabitStoreTesting
import RawStoreFiles
import Testing

/// A Core Data file being written: its tables with SQL, its metadata and its model as Core Data writes them.
final class CoreDataFixture {
    static let storeID = "11111111-2222-4333-8444-555555555555"

    private let temporary: TemporaryFolder
    var folder: URL { temporary.url }
    let path: String
    private var database: OpaquePointer?

    init(log: Bool = false) throws {
        temporary = try TemporaryFolder()
        path = temporary.path("app.sqlite")
        try open()
        // No checkpoint may move pages into the main file in the background.
        if log { try sql("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0") }
        try sql(
            """
            CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
            CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
            CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
            """
        )
    }

    deinit { sqlite3_close_v2(database) }

    func open() throws { try #require(sqlite3_open(path, &database) == SQLITE_OK) }

    /// Closes the connection, like an app that quits.
    func close() {
        sqlite3_close_v2(database)
        database = nil
    }

    func sql(_ text: String) throws {
        var message: UnsafeMutablePointer<CChar>?
        let result = sqlite3_exec(database, text, nil, nil, &message)
        try #require(result == SQLITE_OK, "\(message.map { String(cString: $0) } ?? "") in \(text)")
    }

    /// Changes another database without the knowledge of its owner.
    static func run(_ text: String, on path: String) throws { try RawDatabase(path: path).execute(text) }

    func insert(_ data: Data, _ text: String) throws {
        var statement: OpaquePointer?
        try #require(sqlite3_prepare_v2(database, text, -1, &statement, nil) == SQLITE_OK)
        defer { sqlite3_finalize(statement) }
        _ = data.withUnsafeBytes {
            sqlite3_bind_blob(statement, 1, $0.baseAddress, Int32($0.count), csqlite_transient())
        }
        try #require(sqlite3_step(statement) == SQLITE_DONE)
    }

    /// Writes the metadata row.
    func metadata(framework: Int = 1_344, id: String = storeID, version: Int = 1) throws {
        let list = PlistValue.dictionary([
            ("NSStoreType", .string("SQLite")), ("NSPersistenceFrameworkVersion", .int(framework)),
            ("NSStoreModelVersionHashesVersion", .int(3)), ("NSStoreModelVersionIdentifiers", .array([.string("2")])),
            ("org.example.key", .string("value")),
        ])
        try insert(list.bytes, "INSERT INTO Z_METADATA VALUES (\(version), '\(id)', ?1)")
    }

    /// Writes the cached model.
    func model(_ model: FixtureModel) throws { try insert(model.cache, "INSERT INTO Z_MODELCACHE VALUES (?1)") }

    /// Writes the entity table: a name, and the number of the parent entity.
    func entities(_ rows: [(number: Int, name: String, parent: Int, max: Int)]) throws {
        for row in rows {
            try sql("INSERT INTO Z_PRIMARYKEY VALUES (\(row.number), '\(row.name)', \(row.parent), \(row.max))")
        }
    }

    /// Copies the current files, including the log, into a new folder.
    func copy(_ suffixes: [String] = ["", "-wal"]) throws -> String {
        let target = folder.appendingPathComponent("copy-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        let copy = target.appendingPathComponent("app.sqlite").path
        for suffix in suffixes where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
        }
        return copy
    }
}
