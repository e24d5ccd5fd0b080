import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreMapped
import HabitStoreTesting
import Testing

/// Files with declarations that are seldom seen. Each test is something that an adversary found: a write that was unheard, told twice or told
/// wrongly, a change of what the app had, or a store that was refused for good.
struct OddFileTests {
    /// Writes of other programs, each followed by a look at records, history and digests.
    struct Foreign: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let sql: String
        var more = ""
        let writes: [String]

        init(_ name: String, _ sql: String, more: String = "", _ writes: [String]) {
            (testDescription, self.sql, self.more, self.writes) = (name, sql, more, writes)
        }
    }

    private static let uuidKey = #", "key": {"column": "uid", "form": "uuid"}"#
    private static let uuidTable = """
        CREATE TABLE item (uid TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, alias TEXT);
        INSERT INTO item VALUES ('6B29FC40-CA47-1067-B31D-00DD010662DA', 'x', NULL);
        """

    static let foreign = [
        Foreign(
            "a key in other letters, where that is the same key",
            "CREATE TABLE item (name TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, alias TEXT); INSERT INTO item VALUES ('abc', 'x'), ('def', 'y')",
            [
                "UPDATE item SET name = 'ABC' WHERE name = 'abc'",
                "UPDATE item SET name = 'DEF', alias = 'q' WHERE name = 'def'; DELETE FROM item WHERE name = 'abc'",
            ]
        ),
        Foreign(
            "a UUID in small letters",
            uuidTable,
            more: uuidKey,
            ["UPDATE item SET uid = lower(uid)", "DELETE FROM item"]
        ),
        Foreign(
            "a UUID that comes back in small letters",
            uuidTable,
            more: uuidKey,
            [
                "DELETE FROM item",
                "INSERT INTO item VALUES ('6b29fc40-ca47-1067-b31d-00dd010662da', 'x', NULL)",
            ]
        ),
        Foreign(
            "a row that is replaced by a default",
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'Untitled' UNIQUE, alias TEXT); "
                + "INSERT INTO item VALUES (1, 'Untitled', 'x'), (2, 'b', 'y')",
            [
                "INSERT OR REPLACE INTO item (name, alias) VALUES (NULL, 'new')",
                "UPDATE OR REPLACE item SET name = NULL WHERE id = 2",
            ]
        ),
        Foreign(
            "a row that is replaced by its number",
            "CREATE TABLE item (name TEXT PRIMARY KEY NOT NULL, alias TEXT); INSERT INTO item (rowid, name) VALUES (1, 'a'), (2, 'b')",
            [
                "INSERT OR REPLACE INTO item (rowid, name) VALUES (1, 'z')",
                "UPDATE OR REPLACE item SET rowid = 1 WHERE name = 'b'",
            ]
        ),
        Foreign(
            "a key that a trigger fills in",
            """
            CREATE TABLE item (name TEXT PRIMARY KEY, alias TEXT); INSERT INTO item VALUES ('a', 'x');
            CREATE TRIGGER fill AFTER INSERT ON item WHEN NEW.name IS NULL
            BEGIN UPDATE item SET name = hex(randomblob(8)) WHERE rowid = NEW.rowid; END
            """,
            ["INSERT INTO item (alias) VALUES ('x')"]
        ),
        Foreign(
            "a key that is not UTF-8, for a while",
            "CREATE TABLE item (name TEXT PRIMARY KEY, alias TEXT); INSERT INTO item VALUES ('a', 'x')",
            ["INSERT INTO item VALUES (CAST(x'ff41' AS TEXT), 'y'); DELETE FROM item WHERE alias = 'y'"]
        ),
        Foreign(
            "a trigger that is newer than the store's and changes a new row",
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, alias TEXT); INSERT INTO item VALUES (1, 'a', NULL), (2, 'b', NULL)",
            [
                "CREATE TRIGGER touch AFTER INSERT ON item BEGIN UPDATE item SET alias = 'touched' WHERE id = NEW.id; END",
                "DELETE FROM item WHERE id = 2", "INSERT INTO item (name) VALUES ('new')",
                "DELETE FROM item WHERE id = 2; INSERT INTO item (name) VALUES ('newer')",
            ]
        ),
        Foreign(
            "a trigger that gives the key of a deleted row out again",
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, alias TEXT); INSERT INTO item VALUES (1, 'a', NULL), (2, 'b', NULL)",
            [
                "CREATE TRIGGER tomb AFTER DELETE ON item WHEN OLD.alias IS NULL BEGIN INSERT INTO item VALUES (OLD.id, 'tomb', 'x'); END",
                "DELETE FROM item WHERE id = 2", "DELETE FROM item",
            ]
        ),
        Foreign(
            "a column that the mapping leaves out, renamed and dropped",
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, alias TEXT, cached INTEGER); INSERT INTO item VALUES (1, 'a', NULL, 2)",
            more: #", "excluded": ["cached"]"#,
            [
                "ALTER TABLE item RENAME COLUMN cached TO kept; UPDATE item SET kept = 3, name = 'b'",
                "ALTER TABLE item DROP COLUMN kept; UPDATE item SET name = 'c'",
            ]
        ),
        Foreign(
            "texts in UTF-16",
            "PRAGMA encoding = 'UTF-16le'; CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, alias TEXT); "
                + "INSERT INTO item VALUES (1, 'Bäcker', NULL)",
            ["UPDATE item SET alias = name", "INSERT INTO item (name) VALUES ('😀')"]
        ),
        Foreign(
            "the same number with another storage class",
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, alias); INSERT INTO item VALUES (1, 'a', 'x')",
            ["UPDATE item SET alias = 'y'", "UPDATE item SET alias = NULL"]
        ),
    ]

    @Test(arguments: foreign)
    func otherProgramsWritesAreTold(_ foreign: Foreign) throws {
        let file = try OddFile(foreign.sql, more: foreign.more)
        let follower = try HistoryFollower(file.store)
        for write in foreign.writes {
            try file.old(write)
            try follower.expectAgreement("after \(write)")
        }
        // The store's own writes still work.
        if try file.rows("SELECT 1 FROM pragma_table_info('item') WHERE name = 'id' OR name = 'uid'") != [] {
            try file.store.save(Item("ours"))
            try follower.expectAgreement("after an own write")
        }
    }

    @Test func aRowWithoutAKeyIsRefusedUntilItIsGone() throws {
        let file = try OddFile(
            "CREATE TABLE item (name TEXT PRIMARY KEY, alias TEXT); INSERT INTO item VALUES ('a', 'x')"
        )
        let follower = try HistoryFollower(file.store)
        try file.old("INSERT INTO item VALUES (NULL, 'x')")
        #expect(errorCode { _ = try file.store.all(Item.self) } == .invalidValue)
        try file.old("DELETE FROM item WHERE name IS NULL")
        try follower.expectAgreement()
    }

    // MARK: The store's own writes

    private static let numbered = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, alias TEXT);"

    @Test func aTextKeyIsUsedAgain() throws {
        let file = try OddFile(
            "CREATE TABLE item (name TEXT PRIMARY KEY NOT NULL, alias TEXT); INSERT INTO item VALUES ('a', 'x'), ('b', 'y')"
        )
        let follower = try HistoryFollower(file.store)
        let item = try #require(try file.store.all(Item.self).first { $0.name == "a" })
        try file.store.delete(item)
        try file.store.save(Item("a"))
        try follower.expectAgreement()
        try file.old("DELETE FROM item WHERE name = 'b'")
        try file.store.save(Item("b"))
        try follower.expectAgreement()
    }

    @Test func whatATableIgnoresOrReplacesIsNotCalledStored() throws {
        let file = try OddFile(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE ON CONFLICT IGNORE, "
                + "alias TEXT NOT NULL ON CONFLICT REPLACE DEFAULT 'none'); INSERT INTO item VALUES (1, 'a', 'x')"
        )
        let follower = try HistoryFollower(file.store)
        #expect(errorCode { try file.store.save(Item("a", alias: "y")) } == .invalidValue)
        #expect(errorCode { try file.store.save(Item("b")) } == .invalidValue)
        var item = Item("c", alias: "z")
        try file.store.save(item)
        item.name = "a"
        #expect(errorCode { try file.store.save(item) } == .invalidValue)
        try follower.expectAgreement()
        #expect(try file.rows("SELECT name FROM item ORDER BY 1") == ["a", "c"])
    }

    @Test func aGeneratedColumnFollowsItsBase() throws {
        let file = try OddFile(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, alias TEXT AS (upper(name)) STORED); INSERT INTO item (name) VALUES ('a')"
        )
        let follower = try HistoryFollower(file.store)
        var item = try #require(try file.store.all(Item.self).first)
        item.name = "b"
        try file.store.save(item)
        #expect(try file.store.all(Item.self).first?.alias == "B")
        try file.store.save(Item("new"))
        try follower.expectAgreement()
    }

    @Test func twoAttributesOfAColumnChangeTogetherOrNot() throws {
        let file = try OddFile(
            Self.numbered + "INSERT INTO item VALUES (1, 'a', 'a')",
            #""name": "name", "alias": "name""#,
            more: #", "excluded": ["alias"]"#
        )
        let follower = try HistoryFollower(file.store)
        var item = try #require(try file.store.all(Item.self).first)
        item.name = "b"
        #expect(errorCode { try file.store.save(item) } == .invalidValue)
        item.alias = "b"
        try file.store.save(item)
        try follower.expectAgreement()
    }

    @Test func aRecordThatTheAppHasHiddenIsSavedAgain() throws {
        let file = try OddFile(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, alias TEXT, deleted INTEGER NOT NULL DEFAULT 0); INSERT INTO item VALUES (1, 'a', NULL, 0)",
            more: #", "rows": {"deleted": 0}"#,
            leavesOut: #"{"table": "item", "entity": null, "rows": {"deleted": {"not": 0}}}"#
        )
        let follower = try HistoryFollower(file.store)
        let item = try #require(try file.store.all(Item.self).first)
        try file.old("UPDATE item SET deleted = 1")
        try follower.expectAgreement()
        try file.store.save(item)
        try follower.expectAgreement()
        #expect(try file.rows("SELECT deleted FROM item") == ["0"])
    }

    @Test func aKeyIsFoundBeyondTheGreatest() throws {
        let file = try OddFile(Self.numbered + "INSERT INTO item VALUES (9223372036854775807, 'a', NULL)")
        let follower = try HistoryFollower(file.store)
        try file.store.save(Item("b"))
        try file.store.save(Item("c"))
        try follower.expectAgreement()
    }

    @Test func textsInAColumnOfNumbersAreFound() throws {
        let file = try OddFile(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name STRING NOT NULL, alias STRING); INSERT INTO item VALUES (1, '10x', NULL), (2, '8a', NULL)"
        )
        let found = try file.store.fetch(FetchDescriptor<Item>(predicate: #Predicate { $0.name < "9" }))
        #expect(Set(found.map(\.name)) == ["10x", "8a"])
    }

    @Test func datesBeyondAllNumbersAreCompared() throws {
        let file = try OddFile(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, at INTEGER); INSERT INTO item VALUES (1, 'a', 5)",
            #""name": "name", "date": {"column": "at", "form": "milliseconds 1970"}"#
        )
        let far = Date(timeIntervalSinceReferenceDate: 1e306)
        #expect(try file.store.fetchCount(FetchDescriptor<Item>(predicate: #Predicate { $0.date ?? far < far })) == 1)
        #expect(
            try file.store.fetchCount(
                FetchDescriptor<Item>(filter: try Filter(text: "date > date(\"2300-01-01T00:00:00Z\")"))
            ) == 0
        )
        let nanoseconds = try OddFile(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT); INSERT INTO item VALUES (1, 'a', '9999-12-31 00:00:00.000000001')",
            #""name": "name", "date": {"column": "at", "form": "date yyyy-MM-dd HH:mm:ss.SSSSSSSSS"}"#,
            adopts: false
        )
        #expect(
            errorCode { try nanoseconds.adopt() } == .invalidValue || (try? nanoseconds.store.all(Item.self).count) == 1
        )
    }

    /// A full-text index that triggers keep, a cascade through many levels, and a trigger that needs a function of the app's.
    @Test func triggersOfTheAppsRunOrAreRefused() throws {
        let file = try OddFile(
            Self.numbered
                + """
                CREATE TABLE tree (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES tree ON DELETE CASCADE);
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO tree SELECT i, nullif(i - 1, 0) FROM n;
                CREATE TRIGGER fell AFTER DELETE ON item BEGIN DELETE FROM tree WHERE id = 1; END;
                CREATE VIRTUAL TABLE words USING fts5 (name, content = 'item', content_rowid = 'id');
                CREATE TRIGGER added AFTER INSERT ON item BEGIN INSERT INTO words (rowid, name) VALUES (NEW.id, NEW.name); END;
                CREATE TRIGGER gone AFTER DELETE ON item BEGIN INSERT INTO words (words, rowid, name) VALUES ('delete', OLD.id, OLD.name); END;
                """,
            leavesOut: #"{"table": "tree", "entity": null}"#
        )
        let follower = try HistoryFollower(file.store)
        let item = Item("searchable")
        try file.store.save(item)
        #expect(try file.rows("SELECT rowid FROM words WHERE words MATCH 'searchable'") == ["1"])
        try file.store.delete(item)
        #expect(try file.rows("SELECT count(*) FROM tree") == ["0"])
        try follower.expectAgreement()

        let needy = try OddFile(
            Self.numbered + "CREATE TRIGGER stamp AFTER UPDATE ON item BEGIN UPDATE item SET alias = now_in_app(); END",
            adopts: false
        )
        let before = try needy.rows("SELECT sql FROM sqlite_schema")
        #expect(errorCode { try needy.adopt() } == .unsupported)
        #expect(try needy.rows("SELECT sql FROM sqlite_schema") == before)
    }

    @Test func namesOfTheAppsAreNotTakenForTheStores() throws {
        let taken = try OddFile(
            Self.numbered + "CREATE TRIGGER HabitStore_1_x AFTER INSERT ON item BEGIN SELECT 1; END",
            adopts: false
        )
        #expect(errorCode { try taken.adopt() } == .unsupported)
        #expect(try taken.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger'") == ["HabitStore_1_x"])
        let later = try OddFile(Self.numbered)
        try later.old(
            "CREATE TABLE habitstore_export (x); CREATE TRIGGER habitstore_mine AFTER INSERT ON item BEGIN SELECT 1; END"
        )
        try MappedSQLiteStore.unadopt(later.path)
        #expect(
            try later.rows("SELECT name FROM sqlite_schema ORDER BY 1") == [
                "habitstore_export", "habitstore_mine", "item",
            ]
        )
    }

    @Test func keysWithoutATypeAreRefused() throws {
        let untyped = try OddFile(
            "CREATE TABLE item (id PRIMARY KEY NOT NULL, name TEXT NOT NULL, alias TEXT)",
            adopts: false
        )
        #expect(errorCode { try untyped.adopt() } == .unsupported)
        let any = try OddFile(
            "CREATE TABLE item (id ANY PRIMARY KEY NOT NULL, name TEXT NOT NULL, alias TEXT) STRICT",
            adopts: false
        )
        #expect(errorCode { try any.adopt() } == .unsupported)
    }
}
