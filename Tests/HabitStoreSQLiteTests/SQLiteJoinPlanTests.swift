import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@_spi(Engines) @testable import HabitStoreSQLite

@Suite("SQLite: plans over relationships, windows and what they look at")
struct SQLiteJoinPlanTests {
    private static let habits = 60
    private static let days = 50

    private func date(_ day: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(day) * 86_400) }

    /// Sixty habits, each with an entry on each of fifty days, six with a separate tag and all with a common one; a late entry of the first, and one
    /// without a habit.
    private func withStore(_ body: (SQLiteHabitStore) throws -> Void) throws {
        let file = try SQLiteTestStore()
        let store = try file.open()
        defer { file.close(store) }
        try store.write { transaction in
            try transaction.insert(Tag(id: testID(200), name: "common"))
            for number in UInt8(1)...6 { try transaction.insert(Tag(id: testID(200 + number), name: "tag \(number)")) }
            for number in UInt8(1)...UInt8(Self.habits) {
                var tags: Set = [testID(200)]
                if number <= 6 { tags.insert(testID(200 + number)) }
                try transaction.insert(
                    Habit(
                        id: testID(number),
                        name: "habit \(number)",
                        streak: Int(number),
                        category: number <= 2 ? "rare" : (number.isMultiple(of: 7) ? nil : "usual"),
                        tagIDs: tags
                    )
                )
                for day in 0..<Self.days {
                    try transaction.insert(Entry(date: date(day), value: Double(day), habitID: testID(number)))
                }
            }
            try transaction.insert(Entry(date: date(100), habitID: testID(1)))
            try transaction.insert(Entry(date: date(101), habitID: nil))
        }
        try body(store)
    }

    private func query(
        _ entity: String,
        _ filter: String,
        sort: [RecordQuery.SortKey] = [],
        limit: Int? = nil,
        offset: Int = 0
    ) throws -> RecordQuery {
        RecordQuery(
            entity: entity,
            filter: try FilterExpression(text: filter),
            sort: sort,
            limit: limit,
            offset: offset
        )
    }

    @Test(arguments: [
        ("Entry", #"habit.name == "habit 7""#, "clustering index Entry(habitID, date) by index Habit(name)", 50),
        ("Entry", #"habit.category == "rare""#, "clustering index Entry(habitID, date) by index Habit(category)", 101),
        (
            "Entry", #"habit.category == "rare" AND date >= "2001-02-19""#,
            "clustering index Entry(habitID, date) by index Habit(category)", 3
        ),
        (
            "Entry", #"habit.category == "rare" AND habit.streak == 2"#,
            "clustering index Entry(habitID, date) by index Habit(category)", 50
        ),
        (
            "Entry", #"ANY habit.tags { name == "tag 3" }"#,
            "clustering index Entry(habitID, date) by primary key Habit by index Tag(name)", 50
        ),
        ("Habit", #"ANY entries { date >= "2001-04-01" }"#, "primary key Habit by index Entry(date)", 1),
        ("Habit", #"COUNT entries { date >= "2001-04-01" } > 0"#, "primary key Habit by index Entry(date)", 1),
        ("Habit", #"ANY tags { name == "tag 3" }"#, "primary key Habit by index Tag(name)", 1),
        ("Habit", #"ANY entries { date >= "2001-01-01" }"#, "scan Habit", 60),
        ("Habit", #"ANY tags { name == "common" }"#, "scan Habit", 60),
        ("Entry", #"habit.category == "usual""#, "scan Entry", 2_500),
        ("Entry", #"habit.category == nil"#, "scan Entry", 401),
        ("Entry", #"habit.category != "rare""#, "scan Entry", 2_901),
        ("Entry", #"NOT (habit.name == "habit 7")"#, "scan Entry", 2_952),
        (
            "Entry", #"habit.name == "habit 7" OR date == "2001-04-11""#,
            "clustering index Entry(habitID, date) by index Habit(name) or index Entry(date)", 51
        ),
    ])
    func aPathIsFollowedFromItsSmallSide(_ entity: String, _ filter: String, _ path: String, _ count: Int) throws {
        try withStore { store in
            let query = try query(entity, filter)
            let analysis = try store.read { try $0.analyze(query) }
            #expect(analysis.explanation.accessPath == path)
            #expect(analysis.explanation.method == .native)
            #expect(analysis.statistics.returned == count)
        }
    }

    /// A fetch of one habit's entries in a date range examines nothing else, and neither does a page in the middle.
    @Test func aWindowOfAnIndexRangeLooksAtNoMoreThanItHandsOut() throws {
        try withStore { store in
            let filter = #"habitID == "00000000-0000-0000-0000-000000000005" AND date >= "2001-01-06""#
            let range = try query("Entry", filter, sort: [.init("date")], limit: 20, offset: 5)
            let analysis = try store.read { try $0.analyze(range) }
            #expect(
                analysis.explanation.description.hasPrefix(
                    "native: clustering index Entry(habitID, date), about 25 rows"
                )
            )
            #expect(analysis.statistics == FetchStatistics(examined: 25, followed: 0, returned: 20))
            var descriptor = FetchDescriptor<Entry>(sortBy: [SortDescriptor(\.date)], fetchLimit: 40)
            descriptor.cursor = PageCursor(keys: [.date(date(30)), .uuid(testID(0))])
            let page = try store.read { try $0.analyze(descriptor) }
            #expect(page.statistics.returned == 40)
            #expect(page.statistics.examined <= 45)
        }
    }

    /// Rows that an index cannot exclude are skipped one by one, and counted.
    @Test(arguments: [
        ("Entry", "value == 3", 3_002, 60),
        ("Entry", #"date >= "2001-04-01" AND value == 3"#, 2, 0),
        ("Habit", #"name == "habit 3" OR category == "rare" AND streak == 2"#, 3, 2),
        ("Habit", "name == \"habit 3\" OR name == \"habit 4\"", 2, 2),
        ("Habit", #"ANY entries { date >= "2001-04-01" }"#, 3, 1),
        ("Entry", #"habit.name == "habit 7""#, 51, 50),
        ("Habit", "streak == 5 AND COUNT entries == 50", 110, 1),
    ])
    func everythingLookedAtIsCountedWhenAsked(_ entity: String, _ filter: String, _ examined: Int, _ count: Int) throws
    {
        try withStore { store in
            let analysis = try store.read { try $0.analyze(try query(entity, filter)) }
            #expect(analysis.statistics.examined == examined)
            #expect(analysis.statistics.returned == count)
            let plain = try store.read { transaction in
                try transaction.enumerateRows(PreparedFetch(try query(entity, filter), schema: HabitSchema.current)) {
                    _ in true
                }
            }
            #expect(plain.returned == count && plain.examined >= count && plain.examined <= examined)
        }
    }

    @Test func aScanSaysHowMuchItPassedOverWithoutBeingAsked() throws {
        try withStore { store in
            let work = try store.read { transaction in
                try transaction.enumerateRows(
                    PreparedFetch(try query("Entry", "value == 49"), schema: HabitSchema.current)
                ) { _ in true }
            }
            #expect(work.examined == 3_002)
        }
    }

    @Test(arguments: [
        ("Entry", "", 3_002),
        ("Entry", "value > 3", 3_002),
        ("Entry", #"date == "2001-01-03""#, 60),
        ("Entry", #"date == "2001-01-03" AND value > 100"#, 60),
        ("Entry", #"habit.category == "rare""#, 101),
        ("Habit", #"name == "habit 3" OR category == "rare""#, 3),
        ("Habit", "category IN [\"rare\", nil]", 10),
    ])
    func estimatesAreCountedInTheIndex(_ entity: String, _ filter: String, _ rows: Int) throws {
        try withStore { store in
            let filter = filter.isEmpty ? FilterExpression.always : try FilterExpression(text: filter)
            let explanation = try store.read { try $0.explain(RecordQuery(entity: entity, filter: filter)) }
            #expect(explanation.estimatedRows == rows)
        }
    }

    @Test func onlyWhatIsLeftOverIsLeftOver() throws {
        try withStore { store in
            try store.core.engine.read { snapshot in
                let schema = HabitSchema.current
                let mixed = try query("Habit", #"streak > 3 AND name CONTAINS "1" AND isArchived == false"#)
                    .bound(to: schema)
                let text = try query("Habit", #"name CONTAINS "1""#).bound(to: schema).filter
                #expect(try snapshot.plan(mixed).residual == text)
                let failing = try query("Habit", "streak > 3 AND streak + 1 > 3", limit: 1).bound(to: schema)
                let plan = try snapshot.plan(failing)
                #expect(plan.residual == failing.filter)
                #expect(!plan.windowIsApplied && !plan.orderIsExact && !plan.sql.contains("ORDER BY"))
                #expect(plan.countSQL.hasSuffix(#"WHERE t0."streak" > ?1"#))
            }
        }
    }

    @Test func aProjectionReadsWhatIsWantedAndWhatIsLeftOverNeeds() throws {
        try withStore { store in
            try store.core.engine.read { snapshot in
                var query = try query("Habit", #"name CONTAINS "1""#).bound(to: HabitSchema.current)
                query.projection = [3]
                #expect(
                    try snapshot.plan(query).sql.hasPrefix(
                        #"SELECT t0."id", t0."name", NULL, t0."streak", NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM"#
                    )
                )
                query.hasOpaqueCondition = true
                #expect(try snapshot.plan(query).sql.hasPrefix(SQLiteTable(entity: 0, Habit.entity).selection))
            }
            let descriptor = FetchDescriptor<Habit>(
                filter: Filter(try FilterExpression(text: #"name ENDSWITH "1" AND streak < 30"#)),
                sortBy: [SortDescriptor(\.streak, order: .reverse)]
            )
            let streaks = try store.read { try $0.project(descriptor, [\Habit.streak]).map { $0[\.streak] } }
            #expect(streaks == [21, 11, 1])
            let identifiers = try store.fetchIdentifiers(descriptor)
            #expect(identifiers == [testID(21), testID(11), testID(1)])
        }
    }

    @Test func listsOfAboutTheSameLengthShareAStatement() throws {
        try withStore { store in
            try store.core.engine.read { snapshot in
                let texts = try (3...40).map { count in
                    let values = (0..<count).map { Value.string("habit \($0)") }
                    let filter = FilterExpression.isIn(.attribute(AttributePath("name")), values)
                    let plan = try snapshot.plan(
                        RecordQuery(entity: "Habit", filter: filter).bound(to: HabitSchema.current)
                    )
                    #expect(try snapshot.count(plan) == count - 1)
                    return plan.sql
                }
                // 3...4, 5...8, 9...16, 17...32, and more.
                #expect(Set(texts).count == 5)
                let before = try snapshot.connection.cache.preparations
                for count in 3...40 {
                    let values = (0..<count).map { Value.string("name \($0)") }
                    let filter = FilterExpression.isIn(.attribute(AttributePath("name")), values)
                    let query = try RecordQuery(entity: "Habit", filter: filter).bound(to: HabitSchema.current)
                    #expect(try snapshot.count(try snapshot.plan(query)) == 0)
                }
                #expect(try snapshot.connection.cache.preparations == before)
            }
        }
    }

    /// A long list of texts went to SQLite as JSON, where a text ends at a NUL: such a list is now bound text by text.
    @Test func aTextWithNULInALongListIsFound() throws {
        try withStore { store in
            try store.save(Habit(id: testID(100), name: "a\0b"))
            let names = (0..<50).map { Value.string("x \($0)") } + [.string("a\0b"), .string("\"\\\u{1}")]
            let filter = FilterExpression.isIn(.attribute(AttributePath("name")), names)
            #expect(try store.fetchIdentifiers(FetchDescriptor<Habit>(filter: filter)) == [testID(100)])
            let rest = FilterExpression.isIn(.attribute(AttributePath("name")), names.filter { $0 != .string("a\0b") })
            try store.save(Habit(id: testID(101), name: "\"\\\u{1}"))
            #expect(try store.fetchIdentifiers(FetchDescriptor<Habit>(filter: rest)) == [testID(101)])
        }
    }

    /// A constant that the text did not contain was bound, and the query failed.
    @Test(arguments: [(#""A" != nil"#, 60), (#"nil == "x""#, 0), ("0.0 != nil AND streak > 2", 58)])
    func aConstantIsComparedWithNil(_ filter: String, _ count: Int) throws {
        try withStore { store in
            let descriptor = FetchDescriptor<Habit>(filter: Filter(try FilterExpression(text: filter)))
            #expect(try store.fetchCount(descriptor) == count)
        }
    }

    @Test func theFirstOfAnOrderWithoutIndexAreKeptBySQLite() throws {
        try withStore { store in
            let query = try query("Entry", "value >= 0", sort: [.init("value", ascending: false)], limit: 3)
            let analysis = try store.read { try $0.analyze(query) }
            #expect(analysis.statistics == FetchStatistics(examined: 3_002, followed: 0, returned: 3))
            try store.core.engine.read { snapshot in
                let plan = try snapshot.plan(query.bound(to: HabitSchema.current))
                #expect(plan.windowIsApplied)
                #expect(plan.sql.hasSuffix(#"ORDER BY t0."value" DESC, t0."id" LIMIT ?2 OFFSET ?3"#))
            }
        }
    }
}
