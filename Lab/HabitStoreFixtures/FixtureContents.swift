import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import RawStoreFiles

/// The contents of a fixture, independent of any store. Texts have the file's Unicode form.
struct FixtureContents {
    var description: String
    var habits: [Habit] = []
    var entries: [Entry] = []
    var tags: [Tag] = []
    var drafts: [Draft] = []
    var history: [HistoryTransaction] = []
    /// The last pruned history token.
    var floor: Int64 = 0
    /// The last token.
    var token: Int64 = 0
    /// Whether a version that normalizes text created the file.
    var hasCanonicalText = true
    /// The number of records with each kind of anomaly.
    var anomalies: [String: Int] = [:]

    /// The contents that a store returns: text in NFC.
    var normalized: FixtureContents {
        var copy = self
        for index in copy.habits.indices {
            copy.habits[index].name = copy.habits[index].name.normalizedToNFC()
            copy.habits[index].category = copy.habits[index].category?.normalizedToNFC()
            copy.habits[index].unit = copy.habits[index].unit?.normalizedToNFC()
        }
        for index in copy.entries.indices { copy.entries[index].note = copy.entries[index].note?.normalizedToNFC() }
        for index in copy.tags.indices { copy.tags[index].name = copy.tags[index].name.normalizedToNFC() }
        for index in copy.drafts.indices {
            copy.drafts[index].content = copy.drafts[index].content.normalizedToNFC()
            copy.drafts[index].attachments = copy.drafts[index].attachments.map { $0.normalizedToNFC() }
        }
        return copy
    }

    /// Appends a history transaction with changes.
    mutating func record(at date: Date, author: String?, _ changes: [HistoryChange]) {
        token += 1
        history.append(
            HistoryTransaction(token: HistoryToken(rawValue: token), timestamp: date, author: author, changes: changes)
        )
    }
}

/// Writes a store file of format version 1 with plain SQL, independent of the engine's code. It is frozen: a fixture is the file of an older version,
/// and
/// the current engine must read it.
struct FixtureWriter {
    private static let tables = """
        CREATE TABLE "Habit" ("id" BLOB NOT NULL PRIMARY KEY, "name" TEXT NOT NULL, "createdAt" REAL NOT NULL,
          "streak" INTEGER NOT NULL, "category" TEXT, "isArchived" INTEGER NOT NULL, "timesPerPeriod" INTEGER NOT NULL,
          "periodDays" INTEGER NOT NULL, "unit" TEXT, "target" REAL) STRICT, WITHOUT ROWID;
        CREATE TABLE "Habit_tagIDs" ("owner" BLOB NOT NULL, "target" BLOB NOT NULL,
          PRIMARY KEY ("owner", "target")) STRICT, WITHOUT ROWID;
        CREATE TABLE "Entry" ("id" BLOB NOT NULL PRIMARY KEY, "date" REAL NOT NULL, "note" TEXT, "value" REAL,
          "habitID" BLOB) STRICT, WITHOUT ROWID;
        CREATE TABLE "Tag" ("id" BLOB NOT NULL PRIMARY KEY, "name" TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE "Draft" ("id" BLOB NOT NULL PRIMARY KEY, "content" TEXT NOT NULL, "creationDate" REAL NOT NULL,
          "attachments" TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE "habitstore_metadata" ("key" TEXT NOT NULL PRIMARY KEY, "value" TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE TABLE "history_transaction" ("token" INTEGER NOT NULL PRIMARY KEY, "timestamp" REAL NOT NULL,
          "author" TEXT) STRICT;
        CREATE TABLE "history_change" ("token" INTEGER NOT NULL, "sequence" INTEGER NOT NULL, "entity" TEXT NOT NULL,
          "id" BLOB NOT NULL, "kind" TEXT NOT NULL, "attributes" TEXT, "tombstone" TEXT,
          PRIMARY KEY ("token", "sequence")) STRICT, WITHOUT ROWID;
        """
    private static let indexes = """
        CREATE INDEX "Habit_by_name" ON "Habit" ("name", "id");
        CREATE INDEX "Habit_by_category" ON "Habit" ("category", "id");
        CREATE INDEX "Habit_by_createdAt" ON "Habit" ("createdAt", "id");
        CREATE INDEX "Habit_tagIDs_by_target" ON "Habit_tagIDs" ("target", "owner");
        CREATE INDEX "Entry_by_habitID_date" ON "Entry" ("habitID", "date", "id");
        CREATE INDEX "Entry_by_date" ON "Entry" ("date", "id");
        CREATE INDEX "Tag_by_name" ON "Tag" ("name", "id");
        CREATE INDEX "Draft_by_creationDate" ON "Draft" ("creationDate", "id");
        """

    /// Writes `contents` to a new file.
    static func write(_ contents: FixtureContents, identity: UUID, to path: String) throws {
        for suffix in ["", "-wal", "-shm", "-lock"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
        let database = try RawDatabase(path: path)
        try database.execute("PRAGMA page_size = 4096; PRAGMA application_id = 0x48625374; PRAGMA user_version = 1;")
        try database.execute(tables)
        try database.execute("BEGIN")
        try writeRecords(contents, database)
        try writeHistory(contents, database)
        try writeMetadata(contents, identity, database)
        try database.execute("COMMIT")
        try database.execute(indexes)
        try database.finish(path)
    }

    private static func writeRecords(_ contents: FixtureContents, _ database: RawDatabase) throws {
        for habit in contents.habits {
            try database.insert(
                "Habit",
                [
                    .uuid(habit.id), .string(habit.name), .date(habit.createdAt), .int(Int64(habit.streak)),
                    habit.category.map { .string($0) } ?? .null, .bool(habit.isArchived),
                    .int(Int64(habit.timesPerPeriod)), .int(Int64(habit.periodDays)),
                    habit.unit.map { .string($0) } ?? .null, habit.target.map { .double($0) } ?? .null,
                ]
            )
            for tag in habit.tagIDs.sorted(by: { $0.isBefore($1) }) {
                try database.insert("Habit_tagIDs", [.uuid(habit.id), .uuid(tag)])
            }
        }
        try writeEntries(contents.entries, database)
        for tag in contents.tags { try database.insert("Tag", [.uuid(tag.id), .string(tag.name)]) }
        for draft in contents.drafts {
            try database.insert(
                "Draft",
                [
                    .uuid(draft.id), .string(draft.content), .date(draft.creationDate),
                    .string(try json(draft.attachments)),
                ]
            )
        }
    }

    static func writeEntries(_ entries: [Entry], _ database: RawDatabase) throws {
        for entry in entries {
            try database.insert(
                "Entry",
                [
                    .uuid(entry.id), .date(entry.date), entry.note.map { .string($0) } ?? .null,
                    entry.value.map { .double($0) } ?? .null, entry.habitID.map { .uuid($0) } ?? .null,
                ]
            )
        }
    }

    static func writeHistory(_ contents: FixtureContents, _ database: RawDatabase) throws {
        for transaction in contents.history where transaction.token.rawValue > contents.floor {
            try database.insert(
                "history_transaction",
                [
                    .int(transaction.token.rawValue), .date(transaction.timestamp),
                    transaction.author.map { .string($0) } ?? .null,
                ]
            )
            for (index, change) in transaction.changes.enumerated() {
                var kind = "insert"
                var attributes = Value.null
                var tombstone = Value.null
                switch change.kind {
                case .insert: break
                case .update(let names):
                    kind = "update"
                    attributes = .string(try json(names))
                case .delete(let values):
                    kind = "delete"
                    tombstone = .string(try json(values))
                }
                try database.insert(
                    "history_change",
                    [
                        .int(transaction.token.rawValue), .int(Int64(index + 1)), .string(change.entity),
                        .uuid(change.id), .string(kind), attributes, tombstone,
                    ]
                )
            }
        }
    }

    private static func writeMetadata(
        _ contents: FixtureContents,
        _ identity: UUID,
        _ database: RawDatabase
    ) throws {
        let schema = HabitSchema.current
        var metadata = [
            "storeID": identity.uuidString, "lineage": identity.uuidString,
            "schemaVersion": schema.version.description,
        ]
        if contents.hasCanonicalText { metadata["textForm"] = "nfc" }
        if contents.floor > 0 { metadata["historyFloor"] = String(contents.floor) }
        if contents.token > 0 { metadata["lastToken"] = String(contents.token) }
        for (position, entity) in schema.entities.enumerated() {
            metadata["shape." + entity.name] = schema.shapeHash(ofEntity: position)
        }
        for key in metadata.keys.sorted() {
            try database.insert("habitstore_metadata", [.string(key), .string(metadata[key] ?? "")])
        }
    }

    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

/// The random values of fixtures. They must never change, or the fixtures could not be rewritten bit for bit.
extension SeededGenerator {
    /// A number from 0 up to, but not including, `bound`. Written out, since the standard library's method may change.
    mutating func number(below bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// True in `percent` of 100 cases.
    mutating func chance(_ percent: Int) -> Bool { number(below: 100) < percent }

    mutating func pick<T>(_ choices: [T]) -> T { choices[number(below: choices.count)] }

    /// A version 4 UUID.
    mutating func identifier() -> UUID {
        var bytes = withUnsafeBytes(of: (next().bigEndian, next().bigEndian)) { Array($0) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

/// Wall clocks for the fixtures' entries.
enum Calendars {
    /// The Gregorian calendar in a time zone.
    static func gregorian(_ zone: String) throws -> Calendar {
        guard let timeZone = TimeZone(identifier: zone) else {
            throw CocoaError(
                .fileReadUnknown,
                userInfo: [NSDebugDescriptionErrorKey: "no time zone \(zone); install tzdata"]
            )
        }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        return calendar
    }

    /// The instant of a wall-clock time.
    static func date(
        _ calendar: Calendar,
        _ year: Int,
        _ month: Int,
        _ day: Int,
        _ hour: Int = 0,
        _ minute: Int = 0
    ) -> Date {
        let components = DateComponents(year: year, month: month, day: day, hour: hour, minute: minute)
        return calendar.date(from: components) ?? Date(timeIntervalSinceReferenceDate: 0)
    }
}
