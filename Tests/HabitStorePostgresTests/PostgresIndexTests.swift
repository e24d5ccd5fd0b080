import Foundation
@_spi(Engines) import HabitStore
import Testing

@_spi(Engines) @testable import HabitStorePostgres

/// One version's declarations about the same records.
private protocol IndexChoice: Sendable {
    static var indexes: [IndexDescription] { get }
}

private enum ByRank: IndexChoice { static var indexes: [IndexDescription] { [IndexDescription("rank")] } }
private enum ByTitle: IndexChoice { static var indexes: [IndexDescription] { [IndexDescription("title")] } }

private struct Item<Choice: IndexChoice>: PersistentModel {
    var id = UUID()
    var title = ""
    var rank = 0

    static var entity: EntityDescription {
        EntityDescription(
            Item.self,
            name: "Item",
            attributes: [.id(\Item.id), .attribute("title", \Item.title), .attribute("rank", \Item.rank)],
            indexes: Choice.indexes
        )
    }

    static var schema: Schema { Schema([Item.self]) }
}

extension Item {
    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        title = try row.nextString()
        rank = try row.nextInt()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(title)
        row.append(rank)
    }
}

/// The same store, opened by versions of a program that declare other indexes.
@Suite("PostgreSQL: indexes that a schema adds and drops", .needsServer)
struct PostgresIndexTests {
    private let place: PostgresPlace

    init() throws { place = try TestServer.place() }

    private func query<Choice>(_ text: String) throws -> FetchDescriptor<Item<Choice>> {
        FetchDescriptor(filter: try FilterExpression(text: text))
    }

    @Test func anIndexThatIsNewIsBuiltFromTheRecords() throws {
        let old = try PostgresHabitStore(place, schema: Item<ByRank>.schema)
        try old.insert((0..<50).map { Item<ByRank>(title: "t\($0 % 5)", rank: $0) })
        let new = try PostgresHabitStore(place, schema: Item<ByTitle>.schema)
        let titled: FetchDescriptor<Item<ByTitle>> = try query("title == \"t3\"")
        #expect(try new.explain(titled).accessPath == "index Item(title)")
        #expect(try new.fetchCount(titled) == 10)
        #expect(try new.check { _ in }.isEmpty)
    }

    /// A store remembers which indexes are complete, so that a read need not ask. If a program that does not declare an index had emptied it in the
    /// meantime, the read still used it, and found no records.
    @Test func anIndexThatAnotherProgramHasEmptiedIsNotBelieved() throws {
        let old = try PostgresHabitStore(place, schema: Item<ByRank>.schema)
        try old.insert((0..<50).map { Item<ByRank>(title: "t", rank: $0) })
        let ranked: FetchDescriptor<Item<ByRank>> = try query("rank >= 25")
        #expect(try old.fetchCount(ranked) == 25)
        _ = try PostgresHabitStore(place, schema: Item<ByTitle>.schema)
        #expect { try old.fetch(ranked) } throws: { ($0 as? HabitStoreError)?.code == .busy }
        #expect(try old.fetch(ranked).count == 25)
        #expect(try old.explain(ranked).accessPath == "scan Item")
        // Nor may a write skip an index that the other program relies on.
        #expect { try old.save(Item<ByRank>(title: "u")) } throws: { ($0 as? HabitStoreError)?.code == .schemaMismatch }
    }

    /// Work deferred until the commit is sent in parts if it is large: a single statement took longer than the limit for an answer.
    @Test func aLargeWriteIsSentInParts() throws {
        let store = try PostgresHabitStore(place, schema: Item<ByRank>.schema)
        try store.insert((0..<30_000).map { Item<ByRank>(title: "t", rank: $0) })
        #expect(try store.fetchCount(FetchDescriptor<Item<ByRank>>()) == 30_000)
        let ranked: FetchDescriptor<Item<ByRank>> = try query("rank >= 29990")
        #expect(try store.fetch(ranked).count == 10)
        #expect(try store.fetchHistory(after: .zero).map(\.changes.count) == [30_000])
        #expect(try store.check { _ in }.isEmpty)
    }

    /// Random queries reached an offset of the greatest integer, and adding one overflowed.
    @Test func anOffsetMayBeAsLargeAsNumbersAre() throws {
        let store = try PostgresHabitStore(place, schema: Item<ByRank>.schema)
        try store.insert((0..<5).map { Item<ByRank>(title: "t", rank: $0 % 2) })
        let order = [SortDescriptor(\Item<ByRank>.rank, order: .reverse)]
        #expect(try store.fetch(FetchDescriptor(sortBy: order, fetchLimit: 3, fetchOffset: Int.max)).isEmpty)
        #expect(try store.fetch(FetchDescriptor(sortBy: order, fetchLimit: Int.max, fetchOffset: 4)).count == 1)
    }
}
