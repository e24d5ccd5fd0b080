import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreImport

/// A comparison of a file of 1.09 million rows with its store took 789 MB, and the import into LMDB 486 MB: the identifiers of all rows were in
/// memory,
/// more than once. These tests count what is in memory now, instead of measuring the process.
@Suite struct BoundedMemoryTests {
    /// The known identifiers were also copied for each row, all of them: 250,000 rows took 73 s, and now take 9 s.
    @Test func ofIdentifiersThatWereLookedUpTheLastAreRemembered() throws {
        let count = IdentityResolver.mostKnown + 2_000
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql(
            """
            WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < \(count + 9))
            INSERT INTO ZBOOK (Z_PK, Z_ENT, ZISBN) SELECT i, 1, randomblob(16) FROM n
            """
        )
        let file = try CoreDataFile(path: fixture.path)
        let resolver = try IdentityResolver(file, ["Book": "isbn"])
        let first = try resolver.identifier(root: "Book", key: 10)
        for key in 10..<(count + 10) { _ = try resolver.identifier(root: "Book", key: Int64(key)) }
        #expect(resolver.knownCount > 0)
        #expect(resolver.knownCount <= IdentityResolver.mostKnown)
        #expect(try resolver.identifier(root: "Book", key: 10) == first)
        #expect(first != resolver.derived("Book", 10))
    }

    @Test func identifiersThatAreSetAsideComeBackInTheirOrder() throws {
        for count in [0, 1, SpilledIdentifiers.batch, 2 * SpilledIdentifiers.batch + 3] {
            let all = (0..<count).map { _ in UUID() }
            let spilled = SpilledIdentifiers()
            for id in all {
                try spilled.append(id)
                #expect(spilled.heldCount < SpilledIdentifiers.batch)
            }
            #expect(spilled.count == count)
            // Can be iterated repeatedly.
            for _ in 0..<2 {
                var found: [UUID] = []
                try spilled.forEachBatch { ids in
                    #expect(ids.count <= SpilledIdentifiers.batch)
                    found += ids
                }
                #expect(found == all)
            }
        }
    }

    /// The keys of all records in the history were kept in a set, in addition to the records.
    @Test func whatTheHistoryTellsOfIsReadBesideTheRecords() throws {
        let fixture = try CoreDataFixture.library()
        try fixture.sql(
            "DELETE FROM ACHANGE WHERE ZENTITYPK = 5; UPDATE ACHANGE SET ZTRANSACTIONID = 99 WHERE Z_PK = 3"
        )
        let file = try CoreDataFile(path: fixture.path)
        var pages = try SeenKeys(file, root: "Page")
        let told = try (1...12).filter { try pages.contains(Int64($0)) }
        #expect(told == [3, 7, 9])
        var notes = try SeenKeys(file, root: "Note")
        #expect(try notes.contains(1) == false)
        // A comic's key is numbered among the books.
        var books = try SeenKeys(file, root: "Book")
        let tellsOfBoth = try (books.contains(1), books.contains(2))
        #expect(tellsOfBoth == (true, true))
    }

    @Test func anAttachmentIsAskedOnTheDiskForEachOfItsRowsOnce() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(
            "a.unmapped.jsonl",
            """
            {"table": "ZTAG", "key": 7, "column": "ZMORE", "value": 1.5}
            {"table": "Z_1TAGS", "columns": {"Z_1BOOKS": 1, "Z_5TAGS": 2}}
            {"table": "Z_1TAGS", "columns": {"Z_1BOOKS": 1, "Z_5TAGS": 2}}
            {"table": "ZNOTE", "key": 3, "columns": {"text": "ZTEXT"}, "values": {"text": "borrowed"}}
            {"transaction": 4, "secondsSince2001": 700000000.25, "changes": [1, 2]}
            {"transaction": 5, "changes": []}
            cut
            """
        )
        let kept = try UnmappedValues(path: path)
        #expect(try kept.has("ZTAG", 7, "ZMORE", ["n:1.5"]))
        #expect(try !kept.has("ZTAG", 8, "ZMORE", ["n:1.5"]))
        #expect(try kept.has("ZNOTE", 3, "ZTEXT", ["t:other", "t:borrowed"]))
        #expect(try kept.hasRecord("ZNOTE", 3))
        #expect(try !kept.hasRecord("ZTAG", 7))
        let row = ["Z_1BOOKS": "n:1", "Z_5TAGS": "n:2"]
        let taken = try (0..<3).map { _ in try kept.take("Z_1TAGS", row) }
        #expect(taken == [true, true, false])
        #expect(try kept.hadRow("Z_1TAGS", row))
        #expect(try !kept.hadRow("Z_1TAGS", ["Z_1BOOKS": "n:1"]))
        #expect(try kept.transaction(4)?.seconds == 700_000_000.25)
        #expect(try kept.transaction(4)?.changes == 2)
        #expect(try kept.transaction(5)?.seconds == nil)
        #expect(try kept.transaction(6) == nil)
    }

    @Test func aLedgerIsAskedOnTheDisk() throws {
        let folder = try TemporaryFolder()
        let (one, two) = (UUID(), UUID())
        let path = try folder.write(
            "a.ledger.jsonl",
            """
            {"record": "Book 1", "id": "\(one.uuidString)"}
            {"record": "Book 2", "id": "\(one.uuidString)"}
            {"record": "Book 2", "id": "\(two.uuidString)", "digest": "00"}
            {"gone": "Book 1"}
            {"transaction": 12}
            """
        )
        let ledger = try WitnessLedger(path: path)
        #expect(try ledger.id(of: "Book 1") == nil)
        #expect(try ledger.id(of: "Book 2") == two)
        #expect(try ledger.has(one, key: 1))
        #expect(try ledger.has(one, key: 2))
        #expect(try ledger.has(two, key: 2))
        #expect(try !ledger.has(two, key: 1))
        #expect(try ledger.followed(12))
        #expect(try !ledger.followed(13))
    }
}
