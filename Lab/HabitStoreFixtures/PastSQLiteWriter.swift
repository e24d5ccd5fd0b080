import Foundation
import HabitStore
import RawStoreFiles

/// Writes a SQLite store of schema version 1 or 2 with plain SQL, independent of the engine's code. Frozen: it is the file of an older program.
struct PastSQLiteWriter {
    private static func tables(_ category: String) -> String {
        """
        CREATE TABLE "Habit" ("id" BLOB NOT NULL PRIMARY KEY, "name" TEXT NOT NULL, "createdAt" REAL NOT NULL,
          "streak" INTEGER NOT NULL, \(category)"tags" TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE "Entry" ("id" BLOB NOT NULL PRIMARY KEY, "date" REAL NOT NULL, "note" TEXT, "value" REAL,
          "habitID" BLOB) STRICT, WITHOUT ROWID;
        CREATE TABLE "habitstore_metadata" ("key" TEXT NOT NULL PRIMARY KEY, "value" TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE "history_transaction" ("token" INTEGER NOT NULL PRIMARY KEY, "timestamp" REAL NOT NULL,
          "author" TEXT) STRICT;
        CREATE TABLE "history_change" ("token" INTEGER NOT NULL, "sequence" INTEGER NOT NULL, "entity" TEXT NOT NULL,
          "id" BLOB NOT NULL, "kind" TEXT NOT NULL, "attributes" TEXT, "tombstone" TEXT,
          PRIMARY KEY ("token", "sequence")) STRICT, WITHOUT ROWID;
        """
    }

    private static let indexes = """
        CREATE INDEX "Habit_by_name" ON "Habit" ("name", "id");
        CREATE INDEX "Habit_by_createdAt" ON "Habit" ("createdAt", "id");
        CREATE INDEX "Entry_by_habitID_date" ON "Entry" ("habitID", "date", "id");
        CREATE INDEX "Entry_by_date" ON "Entry" ("date", "id");
        """

    static func write(_ past: PastContents, identity: UUID, to path: String) throws {
        let database = try RawDatabase(path: path)
        try database.execute("PRAGMA page_size = 4096; PRAGMA application_id = 0x48625374; PRAGMA user_version = 1;")
        try database.execute(tables(past.version == 1 ? "" : "\"category\" TEXT, "))
        try database.execute("BEGIN")
        for habit in past.migrated.habits {
            let category = habit.category.map { Value.string($0) } ?? .null
            try database.insert(
                "Habit",
                [
                    .uuid(habit.id), .string(past.name(habit)), .date(habit.createdAt), .int(Int64(habit.streak)),
                ] + (past.version == 1 ? [] : [category]) + [.string(past.tagText(habit))]
            )
        }
        try FixtureWriter.writeEntries(past.migrated.entries, database)
        try FixtureWriter.writeHistory(past.migrated, database)
        for (key, value) in PastMetadata.make(past, identity: identity).sorted(by: { $0.key < $1.key }) {
            try database.insert("habitstore_metadata", [.string(key), .string(value)])
        }
        try database.execute("COMMIT")
        try database.execute(indexes)
        if past.version == 2 {
            try database.execute("CREATE INDEX \"Habit_by_category\" ON \"Habit\" (\"category\", \"id\")")
        }
        try database.finish(path)
    }
}
