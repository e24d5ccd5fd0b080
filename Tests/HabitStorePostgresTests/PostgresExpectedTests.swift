import Foundation
import HabitStore
import HabitStorePostgres
import HabitTracker
import Testing

import struct HabitTracker.Tag

/// Uniqueness is checked for a whole batch, before its records are stored. Earlier writes of the transaction count, too.
@Suite("PostgreSQL: unique values in a batch", .needsServer)
struct PostgresExpectedTests {
    private let store: PostgresHabitStore

    init() throws { store = try PostgresHabitStore(TestServer.place(), schema: HabitSchema.current) }

    /// The record that has a value which the write wants for another record; nil if there is none.
    private func owner(_ body: (any WriteTransaction) throws -> Void) throws -> UUID? {
        do {
            try store.write(author: nil, body)
            return nil
        } catch let error as HabitStoreError {
            #expect(error.code == .uniqueViolation, "\(error)")
            return error.location.id
        }
    }

    @Test func aValueThatStandsTwiceInABatchIsRefused() throws {
        var tags = (0..<50).map { Tag(name: "tag \($0)") }
        tags[30].name = tags[7].name
        tags[40].name = tags[8].name
        #expect(try owner { try $0.insert(contentsOf: tags) } == tags[7].id)
        #expect(try store.all(Tag.self).isEmpty)
    }

    @Test func theFirstRecordThatCannotBeStoredIsNamed() throws {
        let kept = [Tag(name: "kept"), Tag(name: "kept, too")]
        try store.insert(kept)
        let tags = (0..<50).map { Tag(name: "tag \($0)") }
        let value = Tag(name: "kept")
        let identifier = Tag(id: kept[1].id, name: "new")
        #expect(try owner { try $0.insert(contentsOf: tags + [value, identifier]) } == kept[0].id)
        #expect(try owner { try $0.insert(contentsOf: tags + [identifier, value]) } == kept[1].id)
        #expect(try owner { try $0.insert(contentsOf: tags + [Tag(id: kept[1].id, name: "kept")]) } == kept[0].id)
    }

    @Test func whatTheTransactionHasWrittenCounts() throws {
        var moved = Tag(name: "moved")
        let gone = Tag(name: "gone")
        try store.insert([moved, gone])
        moved.name = "elsewhere"
        let (moving, others) = (moved, (0..<5).map { Tag(name: "tag \($0)") })
        try store.write(author: nil) { transaction in
            try transaction.save(moving)
            try transaction.delete(gone)
            try transaction.insert(contentsOf: others + [Tag(name: "moved"), Tag(name: "gone")])
        }
        #expect(
            try owner { try $0.insert(contentsOf: others.map { Tag(name: $0.name + "!") } + [Tag(name: "elsewhere")]) }
                == moved.id
        )
        #expect(try store.fetchCount(FetchDescriptor<Tag>()) == 8)
    }

    /// Keys end at 511 bytes: longer values are compared in the records.
    @Test func aValueThatIsTooLongForKeysIsComparedWhole() throws {
        let long = String(repeating: "long ", count: 200)
        let tags = (0..<5).map { Tag(name: long + "\($0)") }
        try store.insert(tags)
        try store.insert((5..<10).map { Tag(name: long + "\($0)") })
        #expect(try owner { try $0.insert(contentsOf: [Tag(name: "short"), Tag(name: long + "3")]) } == tags[3].id)
    }
}
