import Foundation
import HabitStoreTesting
import RawStoreFiles
import ShadowVerifier
import Testing

@testable import HabitStoreImport

/// Two files of other programs, compared as they are.
struct TableComparisonTests {
    private static let tables = """
        CREATE TABLE account (id INTEGER PRIMARY KEY, title TEXT NOT NULL, opened TEXT, hidden INTEGER NOT NULL DEFAULT 0,
            parent INTEGER REFERENCES account);
        CREATE TABLE booking (uid TEXT PRIMARY KEY NOT NULL, amount INTEGER, rate REAL, raw, day INTEGER, note TEXT,
            account INTEGER REFERENCES account(id) ON DELETE CASCADE);
        CREATE INDEX booking_day ON booking (day);
        CREATE UNIQUE INDEX booking_note ON booking (note, account);
        CREATE TABLE label (code TEXT COLLATE NOCASE, region INTEGER, name TEXT, PRIMARY KEY (code, region)) WITHOUT ROWID;
        CREATE TABLE booking_label (booking TEXT, code TEXT, PRIMARY KEY (booking, code));
        CREATE TABLE log (at REAL, what TEXT, who);
        CREATE TABLE loose (k TEXT PRIMARY KEY, v);
        CREATE TABLE named (name TEXT NOT NULL UNIQUE, v);
        CREATE TABLE vacant (id INTEGER PRIMARY KEY, v TEXT);
        CREATE TABLE "odd ""name'" ("a b" TEXT, "select" INTEGER PRIMARY KEY);
        CREATE VIEW total AS SELECT sum(amount) FROM booking;
        CREATE TRIGGER opened AFTER INSERT ON account BEGIN UPDATE account SET opened = 1 WHERE id = new.id AND 0; END;
        CREATE VIRTUAL TABLE search USING fts5(note);
        """

    private static let rows = """
        INSERT INTO account VALUES (1, 'Everything', '2019-05-01 08:00:00.250', 0, NULL), (2, 'Cash', NULL, 1, 1), (3, 'Bank', NULL, 0, 1);
        INSERT INTO booking VALUES ('b1', 100, 1.5, 1, 1700000000, 'bread', 2), ('b2', -7, NULL, NULL, 1700086400, NULL, 3),
            ('b3', 9007199254740992, 0.1, 'x', NULL, 'Caf\u{E9}', 2), ('b4', 4, 1e300, x'00ff', 5, '', NULL);
        INSERT INTO label VALUES ('food', 1, 'Food'), ('food', 2, 'Essen'), ('rent', 1, 'Rent');
        INSERT INTO booking_label VALUES ('b1', 'food'), ('b2', 'rent'), ('b3', 'food');
        INSERT INTO log VALUES (1.5, 'open', 'a'), (1.5, 'open', 'a'), (2, 'close', 'b'), (NULL, NULL, NULL), (3.0, 'x', 1);
        INSERT INTO loose VALUES (NULL, 1), (NULL, 2), ('a', 3), ('z', 0.0);
        INSERT INTO named VALUES ('n1', 1), ('n2', 2);
        INSERT INTO "odd ""name'" VALUES ('x', 1), ('y', 2);
        INSERT INTO search VALUES ('bread and butter');
        """

    /// A difference, planted in the second file.
    struct Plant: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Exchanged in the declarations.
        var declared: (String, String)?
        /// Executed after the rows.
        var sql = ""
        let kinds: Set<StoreDifference.Kind>

        static func rows(_ name: String, _ kinds: Set<StoreDifference.Kind>, _ sql: String) -> Plant {
            Plant(testDescription: name, sql: sql, kinds: kinds)
        }

        static func declared(_ name: String, _ old: String, _ new: String) -> Plant {
            Plant(testDescription: name, declared: (old, new), kinds: [.declaration])
        }
    }

    static let plants: [Plant] = [
        .rows("a changed text", [.attribute], "UPDATE account SET title = 'Cosh' WHERE id = 2"),
        .rows("another case", [.attribute], "UPDATE account SET title = 'cash' WHERE id = 2"),
        .rows("a trailing space", [.attribute], "UPDATE account SET title = 'Cash ' WHERE id = 2"),
        .rows("a leading space", [.attribute], "UPDATE account SET title = ' Cash' WHERE id = 2"),
        .rows("a NUL at the end", [.attribute], "UPDATE account SET title = 'Cash' || char(0) WHERE id = 2"),
        .rows("another Unicode form", [.attribute], "UPDATE booking SET note = 'Cafe\u{301}' WHERE uid = 'b3'"),
        .rows("an empty text for NULL", [.attribute], "UPDATE booking SET note = '' WHERE uid = 'b2'"),
        .rows("NULL for an empty text", [.attribute], "UPDATE booking SET note = NULL WHERE uid = 'b4'"),
        .rows("2^53 + 1", [.attribute], "UPDATE booking SET amount = 9007199254740993 WHERE uid = 'b3'"),
        .rows("a sign", [.attribute], "UPDATE booking SET amount = 7 WHERE uid = 'b2'"),
        .rows("NULL for 0", [.attribute], "UPDATE booking SET amount = NULL WHERE uid = 'b4'"),
        .rows("the last bit of a fraction", [.attribute], "UPDATE booking SET rate = 0.1 + 1.4e-17 WHERE uid = 'b3'"),
        .rows("1.0 for 1", [.attribute], "UPDATE booking SET raw = 1.0 WHERE uid = 'b1'"),
        .rows("'1' for 1", [.attribute], "UPDATE booking SET raw = '1' WHERE uid = 'b1'"),
        .rows("bytes for a text", [.attribute], "UPDATE booking SET raw = x'78' WHERE uid = 'b3'"),
        .rows("a byte more", [.attribute], "UPDATE booking SET raw = x'00ff00' WHERE uid = 'b4'"),
        .rows(
            "a text that is not UTF-8",
            [.attribute],
            "UPDATE booking SET raw = CAST(x'78ff' AS TEXT) WHERE uid = 'b3'"
        ),
        .rows("a day later", [.attribute], "UPDATE booking SET day = day + 86400 WHERE uid = 'b1'"),
        .rows(
            "a date in another form",
            [.attribute],
            "UPDATE account SET opened = '2019-05-01T08:00:00.250Z' WHERE id = 1"
        ),
        .rows(
            "a thousandth of a second",
            [.attribute],
            "UPDATE account SET opened = '2019-05-01 08:00:00.251' WHERE id = 1"
        ),
        .rows("swapped links", [.attribute], "UPDATE booking SET account = 5 - account WHERE account IN (2, 3)"),
        .rows("a link to nothing", [.attribute, .dangling], "UPDATE booking SET account = 77 WHERE uid = 'b1'"),
        .rows("a link less", [.attribute], "UPDATE booking SET account = NULL WHERE uid = 'b1'"),
        .rows("a parent", [.attribute], "UPDATE account SET parent = 3 WHERE id = 2"),
        .rows("a flag", [.attribute], "UPDATE account SET hidden = 1 - hidden WHERE id = 3"),
        .rows("a flag that is a text", [.attribute], "UPDATE account SET hidden = 'yes' WHERE id = 3"),
        .rows(
            "the same values in other rows",
            [.attribute],
            "UPDATE booking SET amount = 104 - amount WHERE uid IN ('b1', 'b4')"
        ),
        .rows("a row less", [.count, .missingInB], "DELETE FROM booking WHERE uid = 'b4'"),
        .rows("a row more", [.count, .missingInA], "INSERT INTO booking (uid) VALUES ('b5')"),
        .rows("a row for another", [.missingInA, .missingInB], "UPDATE booking SET uid = 'b9' WHERE uid = 'b4'"),
        .rows("another number", [.missingInA, .missingInB, .dangling], "UPDATE account SET id = 9 WHERE id = 3"),
        .rows("a row in an empty table", [.count, .missingInA], "INSERT INTO vacant VALUES (1, NULL)"),
        .rows("an emptied table", [.count, .missingInB], "DELETE FROM named"),
        .rows(
            "another case of a key",
            [.missingInA, .missingInB],
            "UPDATE label SET code = 'RENT' WHERE code = 'rent'"
        ),
        .rows("a part of a key", [.missingInA, .missingInB], "UPDATE label SET region = 3 WHERE region = 2"),
        .rows(
            "a name next to a key",
            [.attribute],
            "UPDATE label SET name = 'Foods' WHERE code = 'food' AND region = 1"
        ),
        .rows(
            "swapped names next to a key",
            [.attribute],
            "UPDATE label SET name = iif(region = 1, 'Essen', 'Food') WHERE code = 'food'"
        ),
        .rows(
            "another pair of a join table",
            [.missingInA, .missingInB],
            "UPDATE booking_label SET code = 'rent' WHERE booking = 'b1'"
        ),
        .rows(
            "as many links, of others",
            [.missingInA, .missingInB],
            "UPDATE booking_label SET booking = 'b4' WHERE booking = 'b3'"
        ),
        .rows("a pair less", [.count, .missingInB], "DELETE FROM booking_label WHERE booking = 'b2'"),
        .rows("a repeated row less", [.count, .missingInB], "DELETE FROM log WHERE rowid = 1"),
        .rows("a row repeated once more", [.count, .missingInA], "INSERT INTO log VALUES (2, 'close', 'b')"),
        .rows(
            "another row repeated",
            [.missingInA, .missingInB],
            "DELETE FROM log WHERE rowid = 1; INSERT INTO log VALUES (2, 'close', 'b')"
        ),
        .rows(
            "an equal multiset in other pairs",
            [.missingInA, .missingInB],
            "UPDATE log SET who = iif(who = 'a', 'b', 'a') WHERE rowid IN (2, 3)"
        ),
        .rows("1.0 for 1 without a key", [.missingInA, .missingInB], "UPDATE log SET who = 1.0 WHERE rowid = 5"),
        .rows("a NULL without a key", [.missingInA, .missingInB], "UPDATE log SET what = '' WHERE rowid = 4"),
        .rows("a row of NULLs less", [.count, .missingInB], "DELETE FROM log WHERE rowid = 4"),
        .rows("-0.0", [.missingInA, .missingInB], "UPDATE loose SET v = -0.0 WHERE k = 'z'"),
        .rows("a value next to a NULL key", [.missingInA, .missingInB], "UPDATE loose SET v = 9 WHERE v = 2"),
        .rows("a NULL key more", [.count, .missingInA], "INSERT INTO loose VALUES (NULL, 1)"),
        .rows("a key that became NULL", [.missingInA, .missingInB], "UPDATE loose SET k = NULL WHERE k = 'a'"),
        .rows("a value next to a unique name", [.attribute], "UPDATE named SET v = 3 WHERE name = 'n2'"),
        .rows("a unique name", [.missingInA, .missingInB], "UPDATE named SET name = 'n3' WHERE name = 'n2'"),
        .rows("odd names", [.attribute], "UPDATE \"odd \"\"name'\" SET \"a b\" = 'z' WHERE \"select\" = 2"),
        .rows("a text that is searched", [.attribute], "UPDATE search SET note = 'bread and beer'"),
        .rows(
            "an index that lacks a row",
            [.damage],
            """
            DROP INDEX booking_day; CREATE INDEX booking_day ON booking (day) WHERE uid <> 'b1';
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE INDEX booking_day ON booking (day)' WHERE name = 'booking_day'
            """
        ),
        .rows("a table less", [.declaration], "DROP TABLE vacant"),
        .rows("a table more", [.declaration], "CREATE TABLE more (id INTEGER PRIMARY KEY)"),
        .rows("a column more", [.declaration], "ALTER TABLE named ADD COLUMN w"),
        .rows("a column less", [.declaration], "ALTER TABLE named DROP COLUMN v"),
        .rows("a view less", [.declaration], "DROP VIEW total"),
        .rows("a trigger less", [.declaration], "DROP TRIGGER opened"),
        .rows("a unique index less", [.declaration], "DROP INDEX booking_note"),
        .rows(
            "an index that is no longer unique",
            [.declaration],
            "DROP INDEX booking_note; CREATE INDEX booking_note ON booking (note, account)"
        ),
        .declared(
            "a blank within a view's text",
            "SELECT sum(amount) FROM booking",
            "SELECT sum(amount), 'a  b' FROM booking"
        ),
        .declared("another trigger", "AND 0; END", "AND 1; END"),
        .rows(
            "a trigger on a view",
            [.declaration],
            "CREATE TRIGGER instead INSTEAD OF INSERT ON total BEGIN DELETE FROM log; END"
        ),
        .declared(
            "another Unicode form of a default",
            "hidden INTEGER NOT NULL DEFAULT 0",
            "hidden INTEGER NOT NULL DEFAULT 'e\u{301}'"
        ),
        .declared("a default that is called none", "title TEXT NOT NULL", "title TEXT NOT NULL DEFAULT 'none'"),
        .declared("another tokenizer", "fts5(note)", "fts5(note, tokenize = 'porter')"),
        .declared(
            "keys that are never given out again",
            "vacant (id INTEGER PRIMARY KEY",
            "vacant (id INTEGER PRIMARY KEY AUTOINCREMENT"
        ),
        .declared(
            "a strict table",
            "vacant (id INTEGER PRIMARY KEY, v TEXT)",
            "vacant (id INTEGER PRIMARY KEY, v TEXT) STRICT"
        ),
        .declared(
            "a virtual table less",
            "CREATE VIRTUAL TABLE search USING fts5(note);",
            "CREATE TABLE search (note);"
        ),
        .rows(
            "a table that is called like a store's",
            [.declaration],
            "CREATE TABLE habitstore_notes (note); INSERT INTO habitstore_notes VALUES (1)"
        ),
        .declared(
            "the order of a query: another collation",
            "title TEXT NOT NULL",
            "title TEXT COLLATE NOCASE NOT NULL"
        ),
        .declared("the order of a query: another affinity", "who);", "who TEXT COLLATE BINARY, w2);"),
        .declared("NULL allowed", "title TEXT NOT NULL", "title TEXT"),
        .declared("another default", "DEFAULT 0", "DEFAULT 1"),
        .declared("another deletion rule", "ON DELETE CASCADE", "ON DELETE SET NULL"),
        .declared("no reference", "parent INTEGER REFERENCES account", "parent INTEGER"),
        .declared("no primary key", "k TEXT PRIMARY KEY, v", "k TEXT UNIQUE, v"),
        .declared("another column of a key", "PRIMARY KEY (booking, code)", "PRIMARY KEY (code, booking)"),
    ]

    private static func make(_ path: String, _ plant: Plant?) throws {
        var tables = tables
        if let (old, new) = plant?.declared {
            try #require(tables.contains(old))
            tables = tables.replacingOccurrences(of: old, with: new)
        }
        // Another declaration of one column must not change what the rows are.
        let database = try RawDatabase(path: path)
        try database.execute(tables)
        try database.execute(
            plant?.declared?.1.contains("w2") == true
                ? rows.replacing("INTO log VALUES", with: "INTO log (at, what, who) VALUES") : rows
        )
        if let plant { try database.execute(plant.sql) }
        database.close()
    }

    private func compare(_ a: String, _ b: String, depth: VerificationDepth = .full) throws -> VerificationReport {
        var options = VerificationOptions()
        options.depth = depth
        options.showsValues = true
        options.recorder = MismatchRecorder()
        let before = try [a, b].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        let report = try TableComparison(a, b, options: options).run()
        let after = try [a, b].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        #expect(before == after)
        // Each difference can be seen again without the files.
        let recording = try #require(options.recorder?.recording)
        let read = try #require(try? MismatchRecording.load(path: try write(recording)))
        for difference in report.differences {
            #expect(try read.replay(difference.differenceID)?.finding == difference)
        }
        return report
    }

    private func write(_ recording: MismatchRecording) throws -> String {
        let path = folder.path("recording.jsonl")
        try recording.encoded().write(to: URL(fileURLWithPath: path))
        return path
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: TableComparisonTests.plants)
    func everyPlantedDifferenceIsFound(_ plant: Plant) throws {
        let (a, b) = (folder.path("a.sqlite"), folder.path("b.sqlite"))
        try Self.make(a, nil)
        try Self.make(b, plant)
        let report = try compare(a, b)
        #expect(report.verdict == .mismatch)
        #expect(Set(report.differences.map(\.kind)).isSuperset(of: plant.kinds), "\(report.differences.map(\.message))")
        // The other way round, what one lacks the other has.
        let back = try compare(b, a)
        #expect(back.verdict == .mismatch)
        #expect(back.differences.count == report.differences.count)
        #expect(try compare(b, b).verdict == .match || plant.kinds == [.damage])
    }

    @Test func anIndexWithTheWrongEntriesIsFoundByTheParanoid() throws {
        let (a, b) = (folder.path("a.sqlite"), folder.path("b.sqlite"))
        try Self.make(a, nil)
        // As many entries as rows, one of them of another value.
        let wrong = """
            DROP INDEX booking_day; CREATE INDEX booking_day ON booking (account);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE INDEX booking_day ON booking (day)' WHERE name = 'booking_day'
            """
        try Self.make(b, .rows("wrong entries", [.damage], wrong))
        let report = try compare(a, b, depth: .paranoid)
        #expect(report.differences.map(\.kind).contains(.damage))
        #expect(try compare(a, a, depth: .paranoid).verdict == .match)
    }

    /// The same declarations in other words.
    @Test(arguments: [
        ("parent INTEGER REFERENCES account)", "parent INTEGER references ACCOUNT (Id))"),
        ("REFERENCES account(id) ON DELETE CASCADE", "REFERENCES account ON DELETE CASCADE"),
        ("opened TEXT,", "opened TEXT DEFAULT NULL,"),
        (
            "CREATE VIEW total AS SELECT sum(amount) FROM booking",
            "create view \"total\" as /* all */ select  SUM(amount)\n FROM [booking] -- now\n"
        ),
        ("BEGIN UPDATE account SET", "begin\n  update \"account\" set"),
        ("CREATE INDEX booking_day ON booking (day);", ""),
    ])
    func otherWordsAreNoDifference(_ old: String, _ new: String) throws {
        let (a, b) = (folder.path("a.sqlite"), folder.path("b.sqlite"))
        try Self.make(a, nil)
        try Self.make(b, Plant(testDescription: "", declared: (old, new), kinds: []))
        #expect(try compare(a, b).differences.map(\.message) == [])
    }

    /// Sorting by the bytes of UTF-16 is another order than by those of UTF-8, and a row then seemed to be missing in both files.
    @Test(arguments: ["UTF-16le", "UTF-16be"])
    func encodingsAreCompared(_ encoding: String) throws {
        let (a, b) = (folder.path("a.sqlite"), folder.path("b.sqlite"))
        let names = ["Anna", "\u{141}ukasz", "\u{C9}mile", "\u{1F600}", "\u{E000}", "\u{FFFD}", "\u{10000}", "z"]
        for (path, encoding) in [(a, "UTF-8"), (b, encoding)] {
            let database = try RawDatabase(path: path)
            try database.execute(
                "PRAGMA encoding = '\(encoding)'; CREATE TABLE t (n TEXT PRIMARY KEY, v); CREATE TABLE u (n, v)"
            )
            for (number, name) in names.enumerated() {
                try database.execute(
                    "INSERT INTO t VALUES ('\(name)', \(number)); INSERT INTO u VALUES ('\(name)', \(number))"
                )
            }
            database.close()
        }
        #expect(try compare(a, b).differences.map(\.message) == [])
        let database = try RawDatabase(path: b)
        try database.execute("DELETE FROM t WHERE v = 4; DELETE FROM u WHERE v = 5")
        database.close()
        #expect(try compare(a, b).differences.map(\.kind) == [.count, .count, .missingInB, .missingInB])
    }

    /// Rows were read from an index that had another value, so that both files seemed to say the same.
    @Test func rowsAreReadFromTheirTable() throws {
        let (a, b) = (folder.path("a.sqlite"), folder.path("b.sqlite"))
        func declare(_ index: String) -> String {
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = '\(index)' WHERE name = 'i'"
        }
        for (path, value) in [(a, "Q"), (b, "y")] {
            for sql in [
                "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('y'); CREATE INDEX i ON t (a);"
                    + declare("CREATE INDEX i ON t (a) WHERE 0"),
                "UPDATE t SET a = '\(value)';" + declare("CREATE INDEX i ON t (a)"),
            ] {
                let database = try RawDatabase(path: path)
                try database.execute(sql)
                database.close()
            }
        }
        #expect(Set(try compare(a, b).differences.map(\.kind)) == [.missingInA, .missingInB])
    }

    /// A number as a key may be told; a text, such as a telephone number, only if values are asked for.
    @Test func keysThatAreTextsAreNotTold() throws {
        let (a, b) = (folder.path("a.sqlite"), folder.path("b.sqlite"))
        let people =
            "CREATE TABLE person (phone TEXT PRIMARY KEY NOT NULL, age INTEGER); CREATE TABLE n (i INTEGER PRIMARY KEY, v);"
        for (path, rows) in [(a, "('+49 170 1234567', 40)"), (b, "('+49 170 1234567', 41), ('+49 171 7654321', 7)")] {
            let database = try RawDatabase(path: path)
            try database.execute(
                "\(people) INSERT INTO person VALUES \(rows); INSERT INTO n VALUES (12, '\(rows.count)')"
            )
            database.close()
        }
        var options = VerificationOptions()
        let redacted = try TableComparison(a, b, options: options).run()
        let texts = redacted.differences.map { "\($0.message) \($0.a ?? "") \($0.b ?? "")" }
        #expect(texts.count == 4 && texts.allSatisfy { !$0.contains("+49") && !$0.contains("1234567") }, "\(texts)")
        #expect(texts.contains { $0.hasPrefix("n 12: v differs") }, "\(texts)")
        options.showsValues = true
        let shown = try TableComparison(a, b, options: options).run()
        #expect(shown.differences.contains { $0.message == "person \"+49 171 7654321\" is not in \(a)" })
    }

    /// A part of a file that only its app can read is named, and the rest is compared.
    @Test func whatIsNotComparedIsNamed() throws {
        let (a, b) = (folder.path("a.sqlite"), folder.path("b.sqlite"))
        for path in [a, b] { try Self.make(path, nil) }
        let report = try compare(a, b)
        #expect(report.verdict == .match)
        #expect(report.notCompared.contains { $0.contains("search_data") })
        #expect(report.a.counts["search_content"] == 1)
    }

    /// The order of tables, columns and rows, the encoding, the page size, the journal and free pages say nothing about what is stored.
    @Test(arguments: [UInt64.random(in: 0...UInt64.max)])
    func equalFilesAreEqualHoweverTheyWereWritten(_ seed: UInt64) throws {
        let pairs = ProcessInfo.processInfo.environment["COMPARISON_PAIRS"].flatMap(Int.init) ?? 40
        print("seed \(seed), \(pairs) pairs")
        var generator = SeededGenerator(seed: seed)
        for pair in 0..<pairs {
            let model = RandomTables(&generator)
            let (a, b) = (folder.path("a\(pair).sqlite"), folder.path("b\(pair).sqlite"))
            try model.write(a, &generator)
            try model.write(b, &generator)
            let report = try compare(a, b)
            #expect(report.verdict == .match, "seed \(seed), pair \(pair): \(report.differences.map(\.message))")
            guard let change = model.change(&generator) else { continue }
            let database = try RawDatabase(path: b)
            try database.execute(change)
            database.close()
            #expect(try compare(a, b).verdict == .mismatch, "seed \(seed), pair \(pair): \(change)")
        }
    }
}

/// Random tables with random rows, which can be written in many ways.
private struct RandomTables {
    struct Table {
        let name: String
        let columns: [String]
        /// The place of a column whose values are all different, and its constraint.
        let key: (place: Int, words: String)?
        /// SQL literals.
        let rows: [[String]]
    }

    let tables: [Table]

    init(_ generator: inout SeededGenerator) {
        tables = (0..<Int.random(in: 1...4, using: &generator)).map { number in
            let columns = (0..<Int.random(in: 1...5, using: &generator)).map { "c\($0)" }
            let words = ["", "INTEGER PRIMARY KEY", "TEXT PRIMARY KEY", "TEXT NOT NULL UNIQUE", "UNIQUE"]
                .randomElement(using: &generator)
            let place = Int.random(in: 0..<columns.count, using: &generator)
            let key = words.flatMap { $0.isEmpty ? nil : (place: place, words: $0) }
            let rows = (0..<Int.random(in: 0...30, using: &generator)).map { row in
                columns.indices.map { column in
                    guard let key, key.place == column else { return Self.literal(&generator) }
                    if key.words.hasPrefix("INTEGER") { return String(row * 3) }
                    let mark = ["k", "\u{141}", "\u{C9}", "\u{1F600}", "\u{E000}", "A", "a"][row % 7]
                    return key.words == "UNIQUE" && row < 3 ? "NULL" : "'\(mark)\(row * 7 % 31)'"
                }
            }
            return Table(name: "t\(number)", columns: columns, key: key, rows: rows)
        }
    }

    private static func literal(_ generator: inout SeededGenerator) -> String {
        let literals = [
            "NULL", "0", "1", "1.0", "-1", "9007199254740993", "9007199254740992.0", "0.1", "''", "'a'", "'A'", "'a '",
            "'\u{E9}'",
            "'e\u{301}'", "'\u{1F600}'", "x''", "x'00'", "x'61'", "'1'", "-0.5",
        ]
        return literals.randomElement(using: &generator) ?? ""
    }

    func write(_ path: String, _ generator: inout SeededGenerator) throws {
        let database = try RawDatabase(path: path)
        defer { database.close() }
        try database.execute("PRAGMA encoding = '\(Bool.random(using: &generator) ? "UTF-8" : "UTF-16le")'")
        try database.execute("PRAGMA page_size = \(Bool.random(using: &generator) ? 1_024 : 8_192)")
        if Bool.random(using: &generator) { try database.execute("PRAGMA journal_mode = WAL") }
        for table in tables.shuffled(using: &generator) {
            let order = table.columns.indices.shuffled(using: &generator)
            let columns = order.map { place in
                table.columns[place] + (table.key.map { $0.place == place ? " \($0.words)" : "" } ?? "")
            }
            try database.execute("CREATE TABLE \(table.name) (\(columns.joined(separator: ", ")))")
            let names = order.map { table.columns[$0] }.joined(separator: ", ")
            for row in table.rows.shuffled(using: &generator) {
                let values = order.map { row[$0] }.joined(separator: ", ")
                try database.execute("INSERT INTO \(table.name) (\(names)) VALUES (\(values))")
                // A row that is written, and removed again, leaves its place.
                if Int.random(in: 0..<5, using: &generator) == 0 {
                    try database.execute("DELETE FROM \(table.name) WHERE rowid = last_insert_rowid()")
                    try database.execute("INSERT INTO \(table.name) (\(names)) VALUES (\(values))")
                }
            }
        }
        if Bool.random(using: &generator) { try database.execute("VACUUM") }
    }

    /// A statement that changes a value; nil if there are no rows.
    func change(_ generator: inout SeededGenerator) -> String? {
        guard let table = tables.filter({ !$0.rows.isEmpty }).randomElement(using: &generator),
            let column = table.columns.randomElement(using: &generator)
        else { return nil }
        let value = column == table.key.map { table.columns[$0.place] } ? "987654321" : "'changed'"
        return "UPDATE \(table.name) SET \(column) = \(value) WHERE rowid = (SELECT max(rowid) FROM \(table.name))"
    }
}
