import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreLMDB

@Suite("LMDB's planner, over relationships and alternatives")
struct LMDBJoinPlanTests {
    /// A query, its expected plan, and the records that it may examine.
    struct Expectation: Sendable, CustomTestStringConvertible {
        var entity: String
        var filter: String
        var sort: [String] = []
        var offset = 0
        var limit: Int?
        var path: String
        var isExact = true
        var isOrdered = true
        var most: Int

        var testDescription: String { "\(entity): \(filter) by \(sort)" }
    }

    private let folder: TemporaryFolder
    private let store: LMDBHabitStore
    private let reference: InMemoryHabitStore

    /// 40 habits in 20 categories, ten of them tagged, with 25 entries each; one entry has no habit, and one more dangles.
    init() throws {
        folder = try TemporaryFolder()
        store = try LMDBHabitStore(path: folder.store, schema: HabitSchema.current)
        reference = try InMemoryHabitStore(schema: HabitSchema.current)
        let tags = (0..<5).map { HabitTag(id: Self.id(1, $0), name: "t\($0)") }
        let habits = (0..<40).map { number in
            Habit(
                id: Self.id(2, number),
                name: "h\(number)",
                createdAt: Self.day(number),
                streak: number % 7,
                category: number % 20 == 0 ? nil : "c\(number % 20)",
                tagIDs: number < 10 ? [tags[number % 3].id, tags[number % 3 + 1].id] : []
            )
        }
        let entries = (0..<1_000).map { number in
            Entry(
                id: Self.id(3, number * 7_919 % 1_000),
                date: Self.day(number / 2),
                note: number % 3 == 0 ? nil : "n\(number % 10)",
                habitID: number == 500 ? nil : habits[number % 40].id
            )
        }
        for store in [store, reference] as [any EngineBackedStore] {
            try store.insert(tags)
            try store.insert(habits)
            try store.insert(entries)
        }
        try Self.insertDangling(store)
        try Self.insertDangling(reference)
    }

    /// Inserts an entry whose habit does not exist, through the engine, because the store would refuse it.
    private static func insertDangling(_ store: some EngineBackedStore) throws {
        let layout = Entry.entity.layout
        let id = id(3, 1_000)
        let values: [Value] = [.uuid(id), .date(day(1)), .null, .null, .uuid(Self.id(2, 77))]
        try EncodedRecord(values, layout: layout).withView(layout) { record in
            let isNew = try store.core.engine.write { try $0.insert(entity: 1, id: id, record: record) }
            #expect(isNew)
        }
    }

    private static func id(_ kind: UInt8, _ number: Int) -> UUID {
        UUID(uuid: (kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number / 256), UInt8(number % 256)))
    }

    private static func day(_ number: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(number) * 86_400) }

    private static let byHabit = "clustering index Entry(habitID, date)"

    static let queries: [Expectation] = [
        .init(
            entity: "Entry",
            filter: "habit.name == \"h7\"",
            path: "\(byHabit) by index Habit(name)",
            isOrdered: false,
            most: 25
        ),
        .init(
            entity: "Entry",
            filter: "habit.name == \"h7\" AND date >= \"2001-06-01\"",
            sort: ["-date"],
            limit: 5,
            path: "\(byHabit) by index Habit(name)",
            most: 5
        ),
        .init(
            entity: "Entry",
            filter: "habit.name == \"h7\"",
            sort: ["date"],
            offset: 10,
            limit: 5,
            path: "\(byHabit) by index Habit(name)",
            most: 15
        ),
        .init(
            entity: "Entry",
            filter: "habit.category == \"c3\" AND date < \"2001-02-01\"",
            path: "\(byHabit) by index Habit(category)",
            isOrdered: false,
            most: 4
        ),
        .init(entity: "Entry", filter: "habit.name == \"none\"", path: "no record of Entry", most: 0),
        .init(
            entity: "Entry",
            filter: "habit.streak == 6 AND note == \"n7\"",
            path: "\(byHabit) by scan Habit",
            isExact: false,
            isOrdered: false,
            most: 40 + 5 * 25
        ),
        .init(entity: "Entry", filter: "habit.category == nil", path: "scan Entry", isExact: false, most: 1_001),
        .init(entity: "Entry", filter: "habit.name != \"h7\"", path: "scan Entry", isExact: false, most: 1_001),
        .init(entity: "Entry", filter: "NOT EXISTS habit", path: "scan Entry", isExact: false, most: 1_001),
        .init(entity: "Entry", filter: "EXISTS habit", path: "scan Entry", isExact: false, most: 1_001),
        .init(
            entity: "Entry",
            filter: "ANY habit.tags { name == \"t0\" }",
            path: "\(byHabit) by index Habit(tagIDs) by index Tag(name)",
            isOrdered: false,
            most: 4 * 25 + 4
        ),
        .init(
            entity: "Entry",
            filter: "date < \"2001-01-03\" OR habitID == nil",
            path: "primary key Entry by index Entry(date) or \(byHabit)",
            most: 6
        ),
        .init(
            entity: "Entry",
            filter: "date < \"2001-01-03\" OR note == \"n1\"",
            path: "scan Entry",
            isExact: false,
            most: 1_001
        ),
        .init(
            entity: "Habit",
            filter: "ANY entries { date >= \"2002-05-14\" }",
            path: "primary key Habit by index Entry(date)",
            most: 8
        ),
        .init(
            entity: "Habit",
            filter: "ANY tags { name == \"t1\" }",
            path: "index Habit(tagIDs) by index Tag(name)",
            most: 7
        ),
        .init(
            entity: "Habit",
            filter: "ANY tags { name == \"t1\" OR name == \"t2\" }",
            path: "primary key Habit by index Habit(tagIDs) by index Tag(name)",
            most: 10
        ),
        .init(
            entity: "Habit",
            filter: "COUNT tags { true } > 0 AND streak > 2",
            path: "primary key Habit by index Habit(tagIDs) by scan Tag",
            isExact: false,
            most: 10
        ),
        .init(entity: "Habit", filter: "COUNT tags { true } == 0", path: "scan Habit", isExact: false, most: 40),
        .init(
            entity: "Habit",
            filter: "name == \"h3\" OR category == \"c4\" OR ANY tags { name == \"t0\" }",
            sort: ["-id"],
            path:
                "primary key Habit by index Habit(name) or index Habit(category) or index Habit(tagIDs) by index Tag(name)",
            most: 7
        ),
    ]

    @Test(arguments: queries) func looksUpWhatNarrows(_ expected: Expectation) throws {
        let query = RecordQuery(
            entity: expected.entity,
            filter: try FilterExpression(text: expected.filter),
            sort: expected.sort.map {
                $0.hasPrefix("-") ? .init(String($0.dropFirst()), ascending: false) : .init($0)
            },
            limit: expected.limit,
            offset: expected.offset
        )
        let (analysis, found, count) = try store.read {
            (try $0.analyze(query), try $0.records(query), try $0.countRecords(query))
        }
        #expect(analysis.explanation.accessPath == expected.path)
        #expect((analysis.explanation.residual == nil) == expected.isExact)
        #expect(analysis.explanation.orderIsNative == expected.isOrdered)
        #expect(analysis.statistics.examined <= expected.most)
        let wanted = try reference.read { try $0.records(query) }
        #expect(found == wanted)
        #expect(count == wanted.count)
        #expect(!wanted.isEmpty || expected.path.hasPrefix("no record"))
    }

    @Test func aListThatWouldBeTooLongIsNotGathered() throws {
        let query = RecordQuery(
            entity: "Habit",
            filter: try FilterExpression(text: "ANY entries { date > \"2001-01-01\" }")
        )
        #expect(try store.read { try $0.explain(query) }.accessPath == "scan Habit")
    }

    @Test func identifiersOfAnExactPlanComeFromKeysAlone() throws {
        let environment = try LMDBEnvironment.open(path: folder.store, options: LMDBOptions(isReadOnly: false))
        let database = try #require(try environment.openDatabases(names: ["Habit"], create: false).first)
        try environment.withWrite { transaction in
            try transaction.put(database, withUnsafeBytes(of: Self.id(2, 4).uuid) { Array($0) }, [1, 2, 3])
        }
        environment.close()
        let filter = try FilterExpression(text: "name BETWEEN \"h3\" AND \"h5\"")
        let both = FetchDescriptor<Habit>(
            filter: filter,
            sortBy: [SortDescriptor(\.name)],
            fetchLimit: 20,
            fetchOffset: 1
        )
        let expected = try reference.fetchIdentifiers(both)
        #expect(try store.fetchIdentifiers(both) == expected)
        #expect(expected.contains(Self.id(2, 4)))
        #expect(throws: HabitStoreError.self) { try store.fetch(both) }
        #expect(throws: HabitStoreError.self) {
            try store.fetchIdentifiers(FetchDescriptor<Habit>(filter: filter, sortBy: [SortDescriptor(\.streak)]))
        }
    }

    @Test func rowsAreEstimatedWithoutCountingThemAll() throws {
        func estimate(_ entity: String, _ filter: String) throws -> Int? {
            let query = RecordQuery(entity: entity, filter: try FilterExpression(text: filter))
            return try store.read { try $0.explain(query) }.estimatedRows
        }
        #expect(try estimate("Entry", "true") == 1_001)
        #expect(try estimate("Entry", "habit.name == \"h7\"") == 25)
        #expect(try estimate("Entry", "id == \"\(Self.id(3, 5))\"") == 1)
        #expect(try estimate("Habit", "name IN []") == 0)
        try store.insert((0..<30_000).map { Entry(date: Self.day(50_000 + $0), habitID: nil) })
        let many = try #require(try estimate("Entry", "date >= \"\(Self.day(50_000).ISO8601Format())\""))
        #expect((25_000...35_000).contains(many))
    }
}
