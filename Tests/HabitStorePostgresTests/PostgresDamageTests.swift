import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

import struct HabitTracker.Tag

@testable import HabitStorePostgres

/// What other programs do to the tables.
@Suite("PostgreSQL: rows that were changed past the program", .needsServer)
struct PostgresDamageTests {
    private func run(_ place: PostgresPlace, _ calls: [PostgresCall]) throws {
        let pool = PostgresPool.of(place.server)
        _ = try pool.withConnection(until: pool.deadline) { try $0.run(calls, until: pool.answerDeadline) }
    }

    /// A new user got the remains of a store whose own row had been deleted.
    @Test func aStoreIsNotMadeOfWhatIsLeftOfAnother() throws {
        let place = try TestServer.place()
        try PostgresHabitStore(place, schema: HabitSchema.current).save(Habit(name: "Run"))
        for table in ["hs_store", "hs_meta"] {
            let text = "DELETE FROM \(table) WHERE store = $1"
            try run(place, [PostgresCall(PostgresStatement(name: "lost_\(table)", text: text), .uuid(place.store))])
            #expect { try PostgresHabitStore(place, schema: HabitSchema.current) } throws: {
                ($0 as? HabitStoreError)?.code == .corrupt
            }
        }
    }

    /// The exchanged rows of two stores were shown under each other's names.
    @Test func aStoreIsNotShownUnderAnothersName() throws {
        let place = try TestServer.place()
        let store = try PostgresHabitStore(place, schema: HabitSchema.current)
        try store.save(Habit(name: "Run"))
        let rename = PostgresStatement(name: "rename", text: "UPDATE hs_store SET name = $2 WHERE store = $1")
        try run(place, [PostgresCall(rename, .uuid(place.store), .text("bob"))])
        #expect { try store.all(Habit.self) } throws: { ($0 as? HabitStoreError)?.code == .staleStore }
        #expect { try PostgresHabitStore(place, schema: HabitSchema.current) } throws: {
            ($0 as? HabitStoreError)?.code == .staleStore
        }
    }

    // MARK: Findings of check

    /// Statements that someone runs with `psql`, where `$1` is the store, and the kind of the finding.
    struct Deletion: CustomTestStringConvertible {
        let testDescription: String
        let statements: [String]
        let kind: String

        init(_ description: String, _ statements: String..., finds kind: String) {
            (testDescription, self.statements, self.kind) = (description, statements, kind)
        }
    }

    private static func number(_ key: String) -> String {
        "(SELECT value::smallint FROM hs_meta WHERE store = $1 AND key = 'number.\(key)')"
    }

    private static let tags = number("entity.Tag")
    private static let names = number("index.Tag.name")

    static let deletions = [
        Deletion(
            "a record",
            "DELETE FROM hs_record WHERE store = $1 AND entity = \(tags) AND body = (\(oneOf(tags)))",
            finds: "digestDeviates"
        ),
        Deletion(
            "the records of an entity",
            "DELETE FROM hs_record WHERE store = $1 AND entity = \(tags)",
            finds: "digestDeviates"
        ),
        Deletion(
            "an entity",
            "DELETE FROM hs_record WHERE store = $1 AND entity = \(tags)",
            "DELETE FROM hs_index WHERE store = $1 AND number = \(names)",
            "DELETE FROM hs_digest WHERE store = $1 AND entity = \(tags)",
            finds: "digestMissing"
        ),
        Deletion(
            "an entity, whose digest is made that of no records",
            "DELETE FROM hs_record WHERE store = $1 AND entity = \(tags)",
            "DELETE FROM hs_index WHERE store = $1 AND number = \(names)",
            "UPDATE hs_digest SET body = decode(repeat('00', 25), 'hex') WHERE store = $1 AND entity = \(tags)",
            finds: "digestMissing"
        ),
        Deletion("all records", "DELETE FROM hs_record WHERE store = $1", finds: "digestDeviates"),
        Deletion(
            "the digests of an entity",
            "DELETE FROM hs_digest WHERE store = $1 AND entity = \(tags)",
            finds: "digestMissing"
        ),
        Deletion("all digests", "DELETE FROM hs_digest WHERE store = $1", finds: "digestMissing"),
        Deletion(
            "the entries of an index",
            "DELETE FROM hs_index WHERE store = $1 AND number = \(names)",
            finds: "indexEntryMissing"
        ),
        Deletion(
            "the end of the history",
            "DELETE FROM hs_history WHERE store = $1 AND token >= 3",
            finds: "historyGap"
        ),
        Deletion(
            "the middle of the history",
            "DELETE FROM hs_history WHERE store = $1 AND token = 2",
            finds: "historyGap"
        ),
        Deletion(
            "the beginning of the history",
            "DELETE FROM hs_history WHERE store = $1 AND token = 1",
            finds: "historyGap"
        ),
        Deletion(
            "a change",
            "DELETE FROM hs_history WHERE store = $1 AND token = 2 AND sequence = 1",
            finds: "historyDamaged"
        ),
        Deletion("the history", "DELETE FROM hs_history WHERE store = $1", finds: "historyGap"),
        Deletion(
            "everything but the store's row and metadata",
            "DELETE FROM hs_record WHERE store = $1",
            "DELETE FROM hs_index WHERE store = $1",
            "DELETE FROM hs_digest WHERE store = $1",
            "DELETE FROM hs_history WHERE store = $1",
            finds: "historyGap"
        ),
        Deletion("all metadata", "DELETE FROM hs_meta WHERE store = $1", finds: "bookkeepingDamaged"),
        Deletion(
            "metadata that is not ours",
            "INSERT INTO hs_meta VALUES ($1, 'odd', 'value')",
            finds: "bookkeepingDamaged"
        ),
        Deletion(
            "a value that is another one",
            "UPDATE hs_meta SET value = 'sealed' WHERE store = $1 AND key = 'lineage'",
            finds: "bookkeepingDamaged"
        ),
        Deletion(
            "records that are moved to an entity that is not there",
            "UPDATE hs_record SET entity = 99 WHERE store = $1 AND entity = \(tags)",
            finds: "rowsOfNothing"
        ),
        Deletion(
            "a record under an entity that is not there",
            "INSERT INTO hs_record VALUES ($1, 99, $1, '')",
            finds: "rowsOfNothing"
        ),
        Deletion(
            "an entry under an index that is not there",
            "INSERT INTO hs_index VALUES ($1, 99, '', $1)",
            finds: "rowsOfNothing"
        ),
        Deletion(
            "a digest under an entity that is not there",
            "INSERT INTO hs_digest SELECT store, 99, first, body FROM hs_digest WHERE store = $1 AND entity = \(tags)",
            finds: "rowsOfNothing"
        ),
    ]

    private static func oneOf(_ entity: String) -> String {
        "SELECT body FROM hs_record WHERE store = $1 AND entity = \(entity) ORDER BY id LIMIT 1"
    }

    private func filled() throws -> (PostgresPlace, PostgresHabitStore) {
        let place = try TestServer.place()
        let store = try PostgresHabitStore(place, schema: HabitSchema.current)
        for number in 0..<4 { try store.insert([Tag(name: "tag \(number)"), Tag(name: "also \(number)")]) }
        #expect(try store.check { _ in }.isEmpty)
        return (place, store)
    }

    /// All records or the end of the history could be deleted, and `check` called the store sound, because the rest did not contradict itself. Now
    /// the store's row sums up its other rows.
    @Test(arguments: deletions)
    func checkFindsWhatWasDeleted(_ deletion: Deletion) throws {
        let (place, store) = try filled()
        for (number, text) in deletion.statements.enumerated() {
            let name = "\(deletion.testDescription) \(number)"
            try run(place, [PostgresCall(PostgresStatement(name: name, text: text), .uuid(place.store))])
        }
        let findings = try store.check { _ in }
        #expect(findings.contains { $0.kind == deletion.kind && $0.severity == .damage }, "\(findings)")
    }

    @Test func checkFindsEachValueOfTheMetadataThatIsGone() throws {
        let (place, store) = try filled()
        let pool = PostgresPool.of(place.server)
        let keys = try pool.withConnection(until: pool.deadline) { connection in
            let answer = try connection.run([PostgresCall(.metadata, .uuid(place.store))], until: pool.answerDeadline)[
                0
            ]
            return try PostgresBookkeeping.metadata(answer)
        }
        #expect(keys.count > 10)
        for (key, value) in keys {
            try run(place, [PostgresCall(.removeMetadata, .uuid(place.store), .texts([key]))])
            #expect(try store.check { _ in }.map(\.kind) == ["bookkeepingDamaged"], "\(key)")
            #expect { try PostgresHabitStore(place, schema: HabitSchema.current) } throws: {
                ($0 as? HabitStoreError)?.code == .corrupt
            }
            try run(place, [PostgresCall(.putMetadata, .uuid(place.store), .texts([key]), .texts([value]))])
        }
        #expect(try store.check { _ in }.isEmpty)
    }

    /// The deleted tokens were assigned again, to other changes: followers of the history took them for those that they knew.
    @Test func nothingIsWrittenBehindAHistoryWhoseEndIsGone() throws {
        let (place, store) = try filled()
        let text = "DELETE FROM hs_history WHERE store = $1 AND token = 4"
        try run(place, [PostgresCall(PostgresStatement(name: "cut_history", text: text), .uuid(place.store))])
        #expect { try store.save(Tag(name: "new")) } throws: { ($0 as? HabitStoreError)?.code == .corrupt }
        #expect { try store.currentToken() } throws: { ($0 as? HabitStoreError)?.code == .corrupt }
        #expect(try store.all(Tag.self).count == 8)
    }

    /// A write whose digest was gone searched for it forever.
    @Test func nothingIsWrittenWithoutItsDigest() throws {
        let (place, store) = try filled()
        try store.insert((0..<2_000).map { Tag(name: "more \($0)") })
        let text = "DELETE FROM hs_digest WHERE store = $1 AND first > $2"
        let first = try #require(UUID(uuidString: "40000000-0000-0000-0000-000000000000"))
        try run(
            place,
            [PostgresCall(PostgresStatement(name: "cut_digests", text: text), .uuid(place.store), .uuid(first))]
        )
        let id = try #require(UUID(uuidString: "F0000000-0000-4000-8000-000000000000"))
        #expect { try store.save(Tag(id: id, name: "new")) } throws: { ($0 as? HabitStoreError)?.code == .corrupt }
        #expect(try store.all(Tag.self).count == 2_008)
        try store.rebuildDigests()
        #expect(try store.check { _ in }.isEmpty)
        try store.save(Tag(id: id, name: "new"))
    }

    /// The next write of a program that had the store open created it again, empty.
    @Test func aStoreThatIsGoneIsNotMadeAnewByWhoHasItOpen() throws {
        let (place, store) = try filled()
        for removal in PostgresStatement.removals { try run(place, [PostgresCall(removal, .uuid(place.store))]) }
        #expect { try store.save(Tag(name: "new")) } throws: { ($0 as? HabitStoreError)?.code == .notFound }
        #expect { try store.all(Tag.self) } throws: { ($0 as? HabitStoreError)?.code == .notFound }
        #expect { try store.check { _ in } } throws: { ($0 as? HabitStoreError)?.code == .notFound }
    }
}
