import Foundation
import GRDB
import HabitStore
import HabitStoreImport
import HabitStoreMapped

/// A file with the tables of GRDB's side, served in place.
enum AppFile {
    private static let tables = """
        CREATE TABLE Habit (id BLOB NOT NULL PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE Entry (id BLOB NOT NULL PRIMARY KEY, date REAL NOT NULL, note TEXT, value REAL, habitID BLOB REFERENCES Habit (id));
        CREATE INDEX Entry_habitID_date ON Entry (habitID, date, id);
        CREATE INDEX Entry_date ON Entry (date, id);
        """

    private static let mapping = """
        {"format": 2, "tables": [
          {"table": "Habit", "entity": "PlainHabit", "key": {"column": "id", "form": "uuid bytes"}, "attributes": {"name": "name"}},
          {"table": "Entry", "entity": "PlainEntry", "key": {"column": "id", "form": "uuid bytes"},
           "attributes": {"date": {"column": "date", "form": "seconds 2001"}, "note": "note", "value": "value"},
           "relationships": {"habit": "habitID"}}
        ]}
        """

    static func open(_ path: String, schema: Schema) throws -> MappedSQLiteStore {
        let mapping = try TableMapping(parsing: Data(mapping.utf8))
        if !FileManager.default.fileExists(atPath: path) {
            var configuration = Configuration()
            configuration.journalMode = .wal
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.write { try $0.execute(sql: tables) }
            try queue.close()
            try MappedSQLiteStore.adopt(path, mapping: mapping, schema: schema)
        }
        return try MappedSQLiteStore(path: path, mapping: mapping, schema: schema)
    }
}
