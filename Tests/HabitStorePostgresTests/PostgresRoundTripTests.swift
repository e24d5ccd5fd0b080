import Foundation
import HabitStore
import HabitStorePostgres
import HabitStoreRollout
import HabitTracker
import PostgresTesting
import Testing

import struct HabitTracker.Tag

/// A proxy counts the round trips: on a network that takes a millisecond each way nothing else determines how long an operation takes.
@Suite("PostgreSQL: round trips", .needsServer)
struct PostgresRoundTripTests {
    private let proxy: PostgresProxy
    private let place: PostgresPlace
    private let store: PostgresHabitStore
    private let habit = Habit(name: "Run")

    /// A store with records, on a connection that has been used.
    init() throws {
        proxy = try PostgresProxy(to: TestServer.port)
        place = PostgresPlace(server: try TestServer.uri(of: proxy), name: try TestServer.place().name)
        store = try PostgresHabitStore(place, schema: HabitSchema.current)
        let habit = habit
        try store.write(author: nil) { transaction in
            try transaction.insert(habit)
            try transaction.insert(contentsOf: Self.entries(100, of: habit))
        }
    }

    private static func entries(_ count: Int, of habit: Habit) -> [Entry] {
        (0..<count).map { Entry(date: Date(timeIntervalSince1970: Double($0) * 3_600), habitID: habit.id) }
    }

    private func trips(_ body: () throws -> Void) throws -> [[String]] {
        proxy.beginCounting()
        try body()
        return proxy.roundTrips
    }

    @Test func aRecordIsReadInOne() throws {
        defer { proxy.close() }
        var found: Habit?
        let trips = try trips { found = try store.model(Habit.self, id: habit.id) }
        #expect(found == habit)
        #expect(trips.count == 1)
    }

    @Test func aRangeIsFetchedInOne() throws {
        defer { proxy.close() }
        let (low, high) = (Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 30 * 3_600))
        let fetch = FetchDescriptor(
            predicate: #Predicate<Entry> { $0.date >= low && $0.date < high },
            sortBy: [SortDescriptor(\.date)]
        )
        var found: [Entry] = []
        let trips = try trips { found = try store.fetch(fetch) }
        #expect(found.count == 30)
        #expect(trips.count == 1)
    }

    /// One to lock the row, one for all reads about the record, one for all writes with the commit.
    @Test func aRecordIsWrittenInThree() throws {
        defer { proxy.close() }
        func write(_ body: (any WriteTransaction) throws -> Void) throws -> Int {
            try trips { try store.write(author: nil) { try body($0) } }.count
        }
        var changed = habit
        changed.streak = 8
        #expect(try write { try $0.save(changed) } == 3)
        var tag = Tag(name: "outdoors")
        #expect(try write { try $0.insert(tag) } == 3)
        tag.name = "outside"
        #expect(try write { try $0.save(tag) } == 3)
        #expect(try write { try $0.save(Tag(name: "outdoors")) } == 3)
        #expect(try write { try $0.insert(Entry(date: Date(), habitID: habit.id)) } == 3)
        #expect(try write { try $0.delete(tag) } <= 4)
    }

    /// Each record of a copy had a separate query.
    @Test func aCopyOfAThousandRecordsTakesADozen() throws {
        defer { proxy.close() }
        let source = try InMemoryHabitStore(schema: HabitSchema.current)
        try source.insert([habit])
        try source.insert(Self.entries(1_000, of: habit))
        let target = try PostgresHabitStore(
            PostgresPlace(server: try TestServer.uri(of: proxy), name: try TestServer.place().name),
            schema: HabitSchema.current
        )
        let trips = try trips { _ = try Backfill(from: source, to: target).run() }
        #expect(try target.fetchCount(FetchDescriptor<Entry>()) == 1_000)
        #expect(trips.count <= 70, "\(trips.count)")
    }

    /// A fourth reads the records of a digest that is split.
    @Test func aThousandRecordsAreInsertedInFour() throws {
        defer { proxy.close() }
        let entries = Self.entries(1_000, of: habit)
        let trips = try trips { try store.write(author: nil) { try $0.insert(contentsOf: entries) } }
        #expect(trips.count == 4)
    }

    /// Uniqueness was checked for each record separately: 2,002 round trips.
    @Test func aThousandRecordsWithAUniqueValueAreInsertedInThree() throws {
        defer { proxy.close() }
        let tags = (0..<1_000).map { Tag(name: "tag \($0)") }
        let trips = try trips { try store.write(author: nil) { try $0.insert(contentsOf: tags) } }
        #expect(trips.count == 3)
        #expect(try store.fetchCount(FetchDescriptor<Tag>()) == 1_000)
    }

    @Test func anExistingStoreIsOpenedInOne() throws {
        defer { proxy.close() }
        let trips = try trips { _ = try PostgresHabitStore(place, schema: HabitSchema.current) }
        #expect(trips.count == 1)
    }

    /// Messages that coincide by chance do not count as one: with a delay of 20 ms the count is the same.
    @Test func theCountIsTheSameOnASlowWay() throws {
        defer { proxy.close() }
        _ = try store.model(Habit.self, id: habit.id)
        proxy.delaySeconds = 0.02
        #expect(try trips { _ = try store.model(Habit.self, id: habit.id) }.count == 1)
        var changed = habit
        changed.streak += 1
        #expect(try trips { try store.write(author: nil) { try $0.save(changed) } }.count == 3)
    }
}
