import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
@_spi(Engines) import OrderedKeys
import Testing

@_spi(Engines) @testable import HabitStoreLMDB

@Suite("LMDB's planner")
struct LMDBPlanTests {
    /// A query and its expected plan.
    struct Expectation: Sendable, CustomTestStringConvertible {
        var filter: String
        var sort: [String] = []
        var limit: Int?
        var path: String
        var isExact: Bool
        var isOrdered: Bool

        var testDescription: String { "\(filter) by \(sort)" }
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let long = String(repeating: "x", count: 600)
    private static let id = "00000000-0000-0000-0000-000000000007"

    static let notes: [Expectation] = [
        .init(filter: "true", path: "scan Note", isExact: true, isOrdered: true),
        .init(filter: "true", sort: ["-id"], path: "scan Note", isExact: true, isOrdered: true),
        .init(filter: "true", sort: ["title"], path: "scan Note by index Note(title)", isExact: true, isOrdered: true),
        .init(filter: "true", sort: ["title"], limit: 3, path: "index Note(title)", isExact: true, isOrdered: true),
        .init(filter: "true", sort: ["stamp"], limit: 3, path: "scan Note", isExact: true, isOrdered: false),
        .init(filter: "id == \"\(id)\"", path: "primary key Note", isExact: true, isOrdered: true),
        .init(filter: "id IN [\"\(id)\"] AND rank > 1", path: "primary key Note", isExact: false, isOrdered: true),
        .init(filter: "id > \"\(id)\"", path: "primary key Note", isExact: true, isOrdered: true),
        .init(filter: "title == \"a\"", path: "index Note(title)", isExact: true, isOrdered: true),
        .init(filter: "title == \"a\"", sort: ["-title"], path: "index Note(title)", isExact: true, isOrdered: true),
        .init(filter: "title == \"\(long)\"", path: "index Note(title)", isExact: false, isOrdered: true),
        .init(
            filter: "title < \"\(long)\"",
            sort: ["title"],
            path: "index Note(title)",
            isExact: false,
            isOrdered: true
        ),
        .init(
            filter: "title BEGINSWITH \"a\"",
            sort: ["-title"],
            path: "index Note(title)",
            isExact: false,
            isOrdered: true
        ),
        .init(filter: "title CONTAINS \"a\"", path: "scan Note", isExact: false, isOrdered: true),
        .init(filter: "title != \"a\"", path: "scan Note", isExact: false, isOrdered: true),
        .init(
            filter: "subtitle == nil",
            sort: ["title", "rank"],
            path: "index Note(subtitle, title, rank)",
            isExact: true,
            isOrdered: true
        ),
        .init(filter: "subtitle != nil", path: "index Note(subtitle, title, rank)", isExact: true, isOrdered: false),
        .init(filter: "weight < nil", path: "no record of Note", isExact: true, isOrdered: true),
        .init(
            filter: "weight > 2 AND weight <= 3",
            sort: ["weight"],
            path: "index Note(weight)",
            isExact: true,
            isOrdered: true
        ),
        .init(filter: "weight > 3 AND weight < 2", path: "no record of Note", isExact: true, isOrdered: true),
        .init(
            filter: "weight > 3 OR weight == nil",
            sort: ["-weight"],
            path: "index Note(weight)",
            isExact: true,
            isOrdered: true
        ),
        .init(filter: "weight > 3 OR rank == 1", path: "scan Note", isExact: false, isOrdered: true),
        .init(
            filter: "rank IN [3, 1, 3]",
            sort: ["rank", "subtitle"],
            path: "index Note(rank, subtitle)",
            isExact: true,
            isOrdered: true
        ),
        .init(filter: "rank IN []", path: "no record of Note", isExact: true, isOrdered: true),
        .init(
            filter: "rank == 1 AND subtitle == \"a\"",
            path: "index Note(rank, subtitle)",
            isExact: true,
            isOrdered: true
        ),
        .init(
            filter: "rank == 1 AND isDone",
            sort: ["subtitle"],
            path: "index Note(rank, subtitle)",
            isExact: false,
            isOrdered: true
        ),
        .init(
            filter: "isDone AND stamp > date(3)",
            sort: ["-stamp"],
            path: "index Note(isDone, stamp)",
            isExact: true,
            isOrdered: true
        ),
        .init(filter: "NOT isDone", sort: ["stamp"], path: "index Note(isDone, stamp)", isExact: true, isOrdered: true),
        .init(
            filter: "links CONTAINS \"\(id)\"",
            sort: ["rank"],
            path: "index Note(links, rank)",
            isExact: true,
            isOrdered: true
        ),
        .init(
            filter: "links CONTAINS \"\(id)\" AND rank >= 2",
            sort: ["-rank"],
            path: "index Note(links, rank)",
            isExact: true,
            isOrdered: true
        ),
        .init(
            filter: "reference == nil",
            sort: ["stamp"],
            path: "index Note(reference, stamp)",
            isExact: true,
            isOrdered: true
        ),
        .init(filter: "rank / rank == 1 AND weight > 2", path: "scan Note", isExact: false, isOrdered: true),
        .init(filter: "weight > 2 AND rank / rank == 1", path: "index Note(weight)", isExact: false, isOrdered: false),
        .init(
            filter: "weight > 2 AND rank / rank == 1",
            limit: 1,
            path: "index Note(weight)",
            isExact: false,
            isOrdered: false
        ),
        .init(
            filter: "weight > 2 AND rank / rank == 1",
            sort: ["weight"],
            limit: 1,
            path: "index Note(weight)",
            isExact: false,
            isOrdered: true
        ),
        .init(
            filter: "rank / rank == 1",
            sort: ["weight"],
            limit: 1,
            path: "scan Note",
            isExact: false,
            isOrdered: false
        ),
        .init(
            filter: "rank IN [1, 2] AND subtitle BEGINSWITH \"a\"",
            sort: ["rank", "subtitle"],
            path: "index Note(rank, subtitle)",
            isExact: false,
            isOrdered: true
        ),
        .init(
            filter: "subtitle IN [\"a\", nil] AND title IN [\"b\", \"c\"] AND rank > 1",
            path: "index Note(subtitle, title, rank)",
            isExact: true,
            isOrdered: false
        ),
    ]

    @Test(arguments: notes) func choosesTheAccessPath(_ expected: Expectation) throws {
        let store = try LMDBHabitStore(path: folder.store, schema: LMDBNote.schema)
        let query = RecordQuery(
            entity: "Note",
            filter: try FilterExpression(text: expected.filter),
            sort: expected.sort.map {
                $0.hasPrefix("-") ? .init(String($0.dropFirst()), ascending: false) : .init($0)
            },
            limit: expected.limit
        )
        let plan = try store.core.engine.read { try $0.plan(query.bound(to: store.schema)) }
        #expect(plan.accessPath == expected.path)
        #expect(plan.filterIsExact == expected.isExact)
        #expect(plan.sortsInMemory != expected.isOrdered)
    }

    @Test func whatIsWantedByIdentifierIsSortedByItsKeysAlone() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        let habit = Habit(name: "Run")
        let entries = (0..<40).map { Entry(date: Date(timeIntervalSinceReferenceDate: Double($0)), habitID: habit.id) }
        try store.save(habit)
        try store.insert(entries)
        let ids = entries.map(\.id).sorted { $0.isBefore($1) }
        let wanted = RecordQuery(
            entity: "Entry",
            filter: .compare(.equal, .attribute(AttributePath("habitID")), .literal(.uuid(habit.id))),
            sort: [.init("id", ascending: false)],
            limit: 5,
            offset: 3
        )
        let bound = try wanted.bound(to: store.schema)
        let plan = try store.core.engine.read { try $0.plan(bound) }
        #expect(plan.sortsIdentifiers && plan.orderIsExact && plan.windowIsApplied && plan.sortsInMemory)
        #expect(try store.read { try $0.records(wanted).map(\.id) } == Array(ids.reversed()[3..<8]))
        let id = habit.id
        let descriptor = FetchDescriptor<Entry>(
            predicate: #Predicate { $0.habitID == id },
            fetchLimit: 4,
            fetchOffset: 2
        )
        #expect(try store.fetchIdentifiers(descriptor) == Array(ids[2..<6]))
        #expect(try store.fetch(descriptor).map(\.id) == Array(ids[2..<6]))
    }

    @Test(arguments: [SortOrder.forward, .reverse]) func whatAnIndexHoldsIsReadFromItsKeys(_ order: SortOrder) throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        let habit = Habit(name: "Run")
        let entries = [-1e9, -2.5, 0, 1e-9, 794_651_848.25].map { seconds in
            Entry(date: Date(timeIntervalSinceReferenceDate: seconds), note: "a", value: seconds, habitID: habit.id)
        }
        try store.save(habit)
        try store.insert(entries.shuffled())
        let id = habit.id
        let descriptor = FetchDescriptor<Entry>(
            predicate: #Predicate { $0.habitID == id },
            sortBy: [SortDescriptor(\.date, order: order)]
        )
        let wanted = order == .forward ? entries : entries.reversed()
        let rows = try store.project(descriptor, [\.date, \.habitID])
        #expect(rows.map { $0[\.date] } == wanted.map(\.date))
        #expect(rows.allSatisfy { $0[\.habitID] == .some(.some(id)) && $0[\.note] == nil })
        #expect(rows.map(\.id) == wanted.map(\.id))
        // No key contains a note, so records are read for it.
        let notes = try store.project(descriptor, [\.value, \.note])
        #expect(notes.map { $0[\.value] } == wanted.map(\.value))
        #expect(notes.allSatisfy { $0[\.note] == .some("a") && $0[\.date] == nil })
    }

    @Test func recordsThatGoWhileTheyAreHandedOutAreStillHandedOut() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        let habit = Habit(name: "Run")
        try store.save(habit)
        try store.insert((0..<10).map { _ in Entry(habitID: habit.id) })
        let id = habit.id
        let descriptor = FetchDescriptor<Entry>(predicate: #Predicate { $0.habitID == id })
        var seen = 0
        try store.write { transaction in
            let all = try transaction.fetchIdentifiers(descriptor)
            try transaction.enumerate(descriptor) { _ in
                if seen == 0 { for other in all { try transaction.delete(Entry(id: other, habitID: nil)) } }
                seen += 1
                return true
            }
        }
        #expect(seen == 10)
    }

    @Test func relationshipsAreFoundByTheirIndexes() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        func path(_ entity: String, _ filter: String) throws -> String {
            let query = RecordQuery(entity: entity, filter: try FilterExpression(text: filter))
            return try store.read { try $0.explain(query) }.accessPath
        }
        #expect(try path("Entry", "habit.id == \"\(Self.id)\"") == "clustering index Entry(habitID, date)")
        #expect(try path("Habit", "ANY tags { id == \"\(Self.id)\" }") == "index Habit(tagIDs)")
        #expect(try path("Habit", "ANY tags { name == \"a\" }") == "scan Habit")
    }

    @Test func aPageOfOneHabitsEntriesTouchesLittleMore() throws {
        let store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        let habits = (0..<20).map { Habit(name: "\($0)") }
        try store.insert(habits)
        try store.insert(
            (0..<4_000).map { number in
                Entry(
                    date: Date(timeIntervalSinceReferenceDate: Double(number / 40) * 86_400),
                    habitID: habits[number % 20].id
                )
            }
        )
        let habit: UUID? = habits[3].id
        let (from, to) = (Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSinceReferenceDate: 5_000_000))
        for order in [SortOrder.forward, .reverse] {
            let descriptor = FetchDescriptor<Entry>(
                predicate: #Predicate { $0.habitID == habit && $0.date >= from && $0.date < to },
                sortBy: [SortDescriptor(\.date, order: order)],
                fetchLimit: 50
            )
            let statistics = try store.read { try $0.enumerate(descriptor) { _ in true } }
            #expect(statistics.returned == 50 && statistics.examined <= 60)
        }
        let all = FetchDescriptor<Entry>(predicate: #Predicate { $0.habitID == habit && $0.date < to })
        #expect(try store.explain(all).method == .native)
        #expect(try store.fetchCount(all) == 116)
    }
}
