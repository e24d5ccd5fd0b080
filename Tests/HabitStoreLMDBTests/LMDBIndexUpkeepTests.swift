import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import Testing

@_spi(Engines) @testable import HabitStoreLMDB

/// The same file, opened by versions of a program that declare other indexes.
@Suite("LMDB indexes that a schema adds and drops")
struct LMDBIndexUpkeepTests {
    private typealias Ranked = LMDBItem<LMDBItemRanks>
    private typealias Clustered = LMDBItem<LMDBItemClusteredRanks>
    private typealias Titled = LMDBItem<LMDBItemTitles>
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(_ schema: Schema, isReadOnly: Bool = false) throws -> LMDBHabitStore {
        try LMDBHabitStore(path: folder.store, schema: schema, options: .init(isReadOnly: isReadOnly))
    }

    private func filter(_ text: String) throws -> FilterExpression { try FilterExpression(text: text) }

    @Test func anIndexThatIsNewIsBuiltFromTheRecords() throws {
        let old = try open(Ranked.schema)
        try old.insert((0..<50).map { Ranked(title: "t\($0 % 5)", rank: $0) })
        old.close()
        let new = try open(Titled.schema)
        let descriptor = FetchDescriptor<Titled>(filter: try filter("title == \"t3\""))
        #expect(try new.explain(descriptor).accessPath == "index Item(title)")
        #expect(try new.fetchCount(descriptor) == 10)
        #expect(try new.check { _ in }.isEmpty)
    }

    @Test func anIndexThatWasDroppedIsNotBelievedWhenItComesBack() throws {
        var store = try open(Ranked.schema)
        let kept = Ranked(title: "a", rank: 1)
        try store.save(kept)
        store.close()
        store = try open(Titled.schema)
        try store.save(Titled(id: kept.id, title: "a", rank: 2))
        store.close()
        store = try open(Ranked.schema)
        #expect(try store.fetchCount(FetchDescriptor<Ranked>(filter: try filter("rank == 1"))) == 0)
        #expect(try store.fetchCount(FetchDescriptor<Ranked>(filter: try filter("rank == 2"))) == 1)
        #expect(try store.check { _ in }.isEmpty)
    }

    @Test func aReadOnlyStoreScansWhereAnIndexIsMissing() throws {
        let writing = try open(Ranked.schema)
        try writing.save(Ranked(title: "a", rank: 1))
        writing.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        let reading = try open(Titled.schema, isReadOnly: true)
        let descriptor = FetchDescriptor<Titled>(filter: try filter("title == \"a\""))
        #expect(try reading.explain(descriptor).accessPath == "scan Item")
        #expect(try reading.fetch(descriptor).map(\.rank) == [1])
        let found = try reading.core.engine.read {
            try $0.identifiers(entity: 0, attribute: 1, equalTo: .string("a"), limit: nil)
        }
        #expect(found.count == 1)
        #expect(try reading.check { _ in }.map(\.kind) == ["indexMissing"])
        reading.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before, "the file was changed")
    }

    /// Two versions of a program that differ only in this run at the same time: the last one to open the file decides, and both maintain what the
    /// file says.
    @Test func aWriterThatDeclaresNoCopiesKeepsThemEvenSo() throws {
        let plain = try open(Ranked.schema)
        try plain.insert((0..<30).map { Ranked(title: "a", rank: $0) })
        let clustered = try open(Clustered.schema)
        let top = FetchDescriptor<Ranked>(filter: try filter("rank >= 20"))
        #expect(try plain.explain(top).accessPath == "clustering index Item(rank)")
        var changed = try #require(try plain.fetch(top).first { $0.rank < 29 })
        changed.title = "b"
        try plain.save(changed)
        try plain.save(Ranked(title: "c", rank: 40))
        try plain.delete(Ranked.self, where: #Predicate { $0.rank == 29 })
        #expect(try clustered.check { _ in }.isEmpty)
        let titles = try clustered.fetch(FetchDescriptor<Clustered>(filter: try filter("rank >= 20"))).map(\.title)
        #expect(titles.sorted() == Array(repeating: "a", count: 8) + ["b", "c"])
        // And vice versa.
        let plainAgain = try open(Ranked.schema)
        #expect(
            try clustered.explain(FetchDescriptor<Clustered>(filter: try filter("rank >= 20"))).accessPath
                == "index Item(rank)"
        )
        try clustered.save(Clustered(title: "d", rank: 41))
        #expect(try plainAgain.fetchCount(top) == 11)
        #expect(try plain.check { _ in }.isEmpty)
    }

    @Test func aWriterThatWouldPassAnIndexByIsRefused() throws {
        let old = try open(Ranked.schema)
        try old.save(Ranked(title: "a", rank: 1))
        let new = try open(Titled.schema)
        try new.save(Titled(title: "b", rank: 2))
        #expect(throws: HabitStoreError.self) { try old.save(Ranked(title: "c", rank: 3)) }
        // It can still read, without the index that is no longer maintained.
        let descriptor = FetchDescriptor<Ranked>(filter: try filter("rank == 2"))
        #expect(try old.explain(descriptor).accessPath == "scan Item")
        #expect(try old.fetchCount(descriptor) == 1)
        #expect(try new.check { _ in }.isEmpty)
    }
}
