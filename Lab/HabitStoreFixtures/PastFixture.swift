import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import RawStoreFiles

/// A user's habits as the first two versions stored them, with everything that people type between commas.
enum PastFixture {
    /// The tags, each with `uuid5(8B4DA670-5DDE-5F9E-8E05-BFD1B8ABAF53, name)`, computed in Python.
    private static let tags: [(name: String, id: String)] = [
        ("health", "C4FD1552-71D6-5488-9806-94CCCD3384F3"), ("Health", "8447219A-4C1F-5662-80D7-777E94D7A57E"),
        ("outdoors", "A52B60B8-EF89-5E91-9723-26E4448DE639"), ("\u{e9}t\u{e9}", "79AB4CD1-C616-5B59-ADA9-8E7A530102C0"),
        ("🏃🏽‍♀️", "9B9D6A52-5060-5768-B010-5A228BD5CB4C"), ("line\nbreak", "3924081A-4593-5202-8DEA-0264F694EFF5"),
        (String(repeating: "x", count: 600), "2309ADE3-7A55-5081-BB5C-FED85AB69CF3"),
        ("صحة", "924FD532-B371-5B30-A06C-F4EA9391246D"), ("0", "666219F8-1BDE-5532-8FCF-2EC1B3220081"),
        ("O'Brien; --", "4984CD83-463E-5560-92BE-C6D458916195"),
    ]

    /// Each habit's name, the text of its tags, and the tags in it.
    private static let habits: [(name: String, tags: String, which: [Int])] = [
        ("Run", "health,outdoors", [0, 2]), ("Run", "outdoors,health", [0, 2]), ("run", "", []), ("Read", " ", []),
        ("Swim", ",,, ,", []), ("Walk", " health ,\thealth\n,health", [0]), ("Row", "Health,health", [0, 1]),
        ("Re\u{301}sume\u{301}", "e\u{301}t\u{e9},\u{e9}te\u{301}", [3]), ("", "🏃🏽‍♀️ , صحة", [4, 7]),
        ("Dance", "line\nbreak", [5]), ("Sing", String(repeating: "x", count: 600) + ",0", [6, 8]),
        ("O'Brien; DROP TABLE Habit;--", "O'Brien; --,", [9]),
        ("All", "0,health,Health,outdoors,\u{e9}t\u{e9},🏃🏽‍♀️,line\nbreak,صحة,O'Brien; --", [0, 1, 2, 3, 4, 5, 7, 8, 9]),
        ("Often", String(repeating: "health,", count: 200), [0]),
    ]

    /// - Parameter version: 1 or 2; in version 2 habits have categories.
    static func make(version: Int) throws -> PastContents {
        var random = SeededGenerator(seed: UInt64(20_170_400 + version))
        let calendar = try Calendars.gregorian("Europe/Berlin")
        let begin = Calendars.date(calendar, 2017, 4, 1, 6, 45)
        var contents = FixtureContents(
            description: "a store of schema version \(version).0.0, whose tags are texts; it is migrated first"
        )
        contents.hasCanonicalText = false
        contents.tags = tags.compactMap { tag in UUID(uuidString: tag.id).map { Tag(id: $0, name: tag.name) } }
        var past = PastContents(version: version, migrated: contents)
        addHabits(&past, &random, begin)
        addEntries(&past.migrated, &random, begin)
        addHistory(&past.migrated, begin)
        return past
    }

    private static func addHabits(_ past: inout PastContents, _ random: inout SeededGenerator, _ begin: Date) {
        for (index, plan) in habits.enumerated() {
            let habit = Habit(
                id: random.identifier(),
                name: plan.name.normalizedToNFC(),
                createdAt: begin.addingTimeInterval(Double(index) * 86_399.999),
                streak: [0, 1, 7, 365, Int.max, Int.min, -1][index % 7],
                category: past.version == 1 ? nil : [nil, "sport", "", "Sport", "sp\u{f3}rt"][index % 5],
                tagIDs: Set(plan.which.map { past.migrated.tags[$0].id })
            )
            past.migrated.habits.append(habit)
            past.tagTexts[habit.id] = plan.tags
            if plan.name.unicodeScalars.count != habit.name.unicodeScalars.count { past.rawNames[habit.id] = plan.name }
        }
    }

    private static func addEntries(_ contents: inout FixtureContents, _ random: inout SeededGenerator, _ begin: Date) {
        for day in 0..<120 {
            for habit in contents.habits where random.chance(12) {
                contents.entries.append(
                    Entry(
                        id: random.identifier(),
                        date: begin.addingTimeInterval(Double(day) * 86_400 + Double(random.number(below: 40_000)) / 8),
                        note: random.chance(30) ? random.pick(["late", "", "très tôt", "null \0 inside"]) : nil,
                        value: random.chance(30) ? Double(random.number(below: 1_000)) / 10 : nil,
                        habitID: habit.id
                    )
                )
            }
        }
        let gone = random.identifier()
        for (place, habit) in [gone, gone, nil, nil].enumerated() {
            contents.entries.append(
                Entry(
                    id: random.identifier(),
                    date: begin.addingTimeInterval(0.1 + Double(place)),
                    note: "without its habit",
                    habitID: habit
                )
            )
        }
        contents.anomalies["danglingReference"] = 2
        contents.entries.append(
            Entry(
                id: random.identifier(),
                date: Date(timeIntervalSinceReferenceDate: 316_000_000_000),
                note: "year 12014",
                value: .leastNonzeroMagnitude,
                habitID: contents.habits[0].id
            )
        )
        contents.anomalies["oddDate"] = 1
    }

    /// A pruned history that includes a deletion; the migration of the tags will be the next transaction.
    private static func addHistory(_ contents: inout FixtureContents, _ begin: Date) {
        contents.floor = 700
        contents.token = 710
        for place in 0..<10 {
            let entry = contents.entries[place * 5]
            let kinds: [HistoryChange.Kind] = [
                .insert, .update(updatedAttributes: ["note", "value"]),
                .delete(tombstone: ["date": .date(entry.date), "habitID": entry.habitID.map { .uuid($0) } ?? .null]),
            ]
            contents.history.append(
                HistoryTransaction(
                    token: HistoryToken(rawValue: contents.floor + 1 + Int64(place)),
                    timestamp: begin.addingTimeInterval(Double(place)),
                    author: place == 0 ? nil : "app",
                    changes: [
                        HistoryChange(
                            entity: "Entry",
                            id: place % 3 == 2 ? contents.tags[0].id : entry.id,
                            kind: kinds[place % 3]
                        )
                    ]
                )
            )
        }
    }
}

/// A store of an older schema version: its contents, and its expected contents after a migration.
struct PastContents {
    /// The schema's version, 1 or 2.
    let version: Int
    /// The expected records of version 3. Another program's `uuid5` computed the tags' identifiers.
    var migrated: FixtureContents
    /// The tag text of each habit.
    var tagTexts: [UUID: String] = [:]
    /// The names whose Unicode form in the file differs.
    var rawNames: [UUID: String] = [:]

    /// The contents as a version that normalized text would have written them.
    var canonical: PastContents {
        var copy = self
        copy.tagTexts = tagTexts.mapValues { $0.normalizedToNFC() }
        copy.rawNames = [:]
        return copy
    }

    func name(_ habit: Habit) -> String { rawNames[habit.id] ?? habit.name }

    func tagText(_ habit: Habit) -> String { tagTexts[habit.id] ?? "" }
}

/// The metadata of stores of the first two schema versions. Frozen like their writers.
enum PastMetadata {
    static func make(_ past: PastContents, identity: UUID) -> [String: String] {
        var metadata = [
            "storeID": identity.uuidString, "lineage": identity.uuidString, "schemaVersion": "\(past.version).0.0",
            "shape.Entry": "319a1651defac28b",
            "shape.Habit": past.version == 1 ? "ce12cbf8a79c27f7" : "58dbf88df3faea83",
            "historyFloor": String(past.migrated.floor), "lastToken": String(past.migrated.token),
        ]
        if past.rawNames.isEmpty { metadata["textForm"] = "nfc" }
        return metadata
    }
}

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

/// Writes an LMDB store of schema version 1 or 2 with liblmdb alone, independent of the engine's code, as described in the article *On-disk formats*.
/// Frozen: it is the file of an older program.
struct PastLMDBWriter {
    private static let habitKinds: [AttributeKind] = [.uuid, .string, .date, .int]
    private static let entryKinds: [AttributeKind] = [.uuid, .date, .string, .double, .uuid]

    static func write(_ past: PastContents, identity: UUID, to path: String) throws {
        let environment = try RawEnvironment(path: path + "-draft")
        var indexes = ["Habit.name", "Habit.createdAt", "Entry.habitID+date", "Entry.date"]
        if past.version == 2 { indexes.insert("Habit.category", at: 1) }
        var metadata = PastMetadata.make(past, identity: identity)
        metadata["format"] = "HabitStore 1"
        metadata["indexes"] = indexes.joined(separator: "\n")
        try environment.write(["metadata", "Habit", "Entry", "history"] + indexes) { put in
            for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
                try put("metadata", Array(key.utf8), Array(value.utf8))
            }
            for habit in past.migrated.habits { try write(habit, past, put) }
            for entry in past.migrated.entries { try write(entry, put) }
            for transaction in past.migrated.history { try write(transaction, put) }
        }
        try environment.finish(compactedTo: path)
    }

    private static func write(_ habit: Habit, _ past: PastContents, _ put: RawEnvironment.Put) throws {
        let category = habit.category.map { Value.string($0) } ?? .null
        let record = try EncodedRecord(
            [.uuid(habit.id), .string(past.name(habit)), .date(habit.createdAt), .int(Int64(habit.streak))]
                + (past.version == 1 ? [] : [category]) + [.string(past.tagText(habit))],
            layout: RecordLayout(kinds: habitKinds + (past.version == 1 ? [] : [.string]) + [.string])
        )
        let id = bytes(habit.id)
        try put("Habit", id, record.bytes)
        try put("Habit.name", [1] + text(past.name(habit)) + id, [])
        try put("Habit.createdAt", [1] + ordered(habit.createdAt) + id, [])
        if past.version == 2 { try put("Habit.category", (habit.category.map { [1] + text($0) } ?? [0]) + id, []) }
    }

    private static func write(_ entry: Entry, _ put: RawEnvironment.Put) throws {
        let record = try EncodedRecord(
            [
                .uuid(entry.id), .date(entry.date), entry.note.map { .string($0) } ?? .null,
                entry.value.map { .double($0) } ?? .null, entry.habitID.map { .uuid($0) } ?? .null,
            ],
            layout: RecordLayout(kinds: entryKinds)
        )
        let id = bytes(entry.id)
        try put("Entry", id, record.bytes)
        let habit = entry.habitID.map { [1] + bytes($0) } ?? [0]
        try put("Entry.habitID+date", habit + [1] + ordered(entry.date) + id, [])
        try put("Entry.date", [1] + ordered(entry.date) + id, [])
    }

    private static func write(_ transaction: HistoryTransaction, _ put: RawEnvironment.Put) throws {
        func key(_ sequence: Int) -> [UInt8] {
            bigEndian(UInt64(transaction.token.rawValue)) + bigEndian(UInt32(sequence))
        }
        var header = littleEndian(transaction.timestamp.timeIntervalSinceReferenceDate.bitPattern)
        header += littleEndian(UInt32(transaction.changes.count))
        header += transaction.author.map { [1] + Array($0.utf8) } ?? [0]
        try put("history", key(0), header)
        for (place, change) in transaction.changes.enumerated() {
            let entity = Array(change.entity.utf8)
            let (kind, json): (UInt8, [UInt8])
            switch change.kind {
            case .insert: (kind, json) = (1, [])
            case .update(let names): (kind, json) = (2, Array(try FixtureWriter.json(names).utf8))
            case .delete(let values): (kind, json) = (3, Array(try FixtureWriter.json(values).utf8))
            }
            let name = littleEndian(UInt16(entity.count)) + entity
            try put("history", key(place + 1), [kind] + name + bytes(change.id) + json)
        }
    }

    // MARK: Bytes

    private static func bytes(_ id: UUID) -> [UInt8] { withUnsafeBytes(of: id.uuid) { Array($0) } }

    private static func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func ordered(_ date: Date) -> [UInt8] {
        let bits = date.timeIntervalSinceReferenceDate.bitPattern
        return bigEndian(bits >> 63 == 1 ? ~bits : bits | 1 << 63)
    }

    private static func text(_ text: String) -> [UInt8] {
        text.utf8.flatMap { $0 == 0 ? [0, 0xFF] : [$0] } + [0, 0]
    }
}
