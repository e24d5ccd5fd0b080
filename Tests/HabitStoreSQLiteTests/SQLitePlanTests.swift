import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@_spi(Engines) @testable import HabitStoreSQLite

@Suite("SQLite: plans")
struct SQLitePlanTests {
    private static let day = 86_400.0

    /// Three habits with an entry for each of a hundred days.
    private func withStore(_ body: (SQLiteHabitStore) throws -> Void) throws {
        let file = try SQLiteTestStore()
        let store = try file.open()
        defer { file.close(store) }
        try store.write { transaction in
            for number in UInt8(1)...3 {
                try transaction.insert(
                    Habit(id: testID(number), name: "habit \(number)", streak: Int(number) * 10, category: "c")
                )
                for day in 0..<100 {
                    let date = Date(timeIntervalSinceReferenceDate: Double(day) * Self.day)
                    try transaction.insert(Entry(date: date, value: Double(day), habitID: testID(number)))
                }
            }
        }
        try body(store)
    }

    private func date(_ day: Int) -> Value { .date(Date(timeIntervalSinceReferenceDate: Double(day) * Self.day)) }

    /// One habit's entries of days 10 to 79, by date.
    private func range() throws -> BoundQuery {
        try RecordQuery(
            entity: "Entry",
            filter: .and([
                .compare(.equal, .attribute(AttributePath("habitID")), .literal(.uuid(testID(2)))),
                .compare(.greaterOrEqual, .attribute(AttributePath("date")), .literal(date(10))),
                .compare(.less, .attribute(AttributePath("date")), .literal(date(80))),
            ]),
            sort: [.init("date")],
            limit: 50,
            offset: 5
        ).bound(to: HabitSchema.current)
    }

    @Test func aHabitsEntriesOfSomeDaysComeFromTheIndexInOrderAndCut() throws {
        try withStore { store in
            try store.core.engine.read { snapshot in
                let plan = try snapshot.plan(try range())
                #expect(plan.accessPath == "clustering index Entry(habitID, date)")
                #expect(plan.filterIsExact && plan.orderIsExact && plan.windowIsApplied)
                let lines = try explanation(plan.sql, snapshot)
                #expect(
                    lines == ["SEARCH t0 USING COVERING INDEX Entry_by_habitID_date (habitID=? AND date>? AND date<?)"]
                )
                var dates: [Value] = []
                try snapshot.walk(plan) { row in
                    dates.append(try row.value(at: 1))
                    return true
                }
                #expect(dates == (15..<65).map(date))
                #expect(try snapshot.count(plan) == 70, "the window is not applied to counts")
            }
        }
    }

    private func explanation(_ sql: String, _ snapshot: SQLiteSnapshot) throws -> [String] {
        let statement = try snapshot.connection.prepare("EXPLAIN QUERY PLAN " + sql)
        var lines: [String] = []
        while try statement.step() { lines.append(try statement.text(at: 3)) }
        return lines
    }

    @Test(arguments: [
        ("Entry", "", "scan Entry"),
        ("Entry", "value > 3", "scan Entry"),
        ("Entry", #"id == "00000000-0000-0000-0000-000000000001""#, "primary key Entry"),
        ("Entry", #"date == "2001-02-01""#, "index Entry(date)"),
        ("Entry", "habitID == nil", "clustering index Entry(habitID, date)"),
        ("Habit", #"category == "c""#, "index Habit(category)"),
        ("Habit", #"name BEGINSWITH "ha""#, "index Habit(name)"),
        ("Habit", #"name == "a" OR category == "c""#, "index Habit(name) or index Habit(category)"),
        ("Tag", #"name IN ["a", "b"]"#, "index Tag(name)"),
    ])
    func theAccessPathIsNamed(_ entity: String, _ filter: String, _ path: String) throws {
        try withStore { store in
            let query = RecordQuery(entity: entity, filter: try FilterExpression(text: filter))
            let explanation = try store.read { try $0.explain(query) }
            #expect(explanation.accessPath == path)
            #expect(explanation.orderIsNative)
        }
    }

    @Test func onlyWhatIsExactIsCut() throws {
        try withStore { store in
            try store.core.engine.read { snapshot in
                var query = try RecordQuery(
                    entity: "Habit",
                    filter: FilterExpression(text: #"name CONTAINS "habit""#),
                    sort: [.init("streak", ascending: false)],
                    limit: 1
                ).bound(to: HabitSchema.current)
                let superset = try snapshot.plan(query)
                #expect(!superset.filterIsExact && superset.orderIsExact && !superset.windowIsApplied)
                query.filter = .literal(.bool(true))
                #expect(try snapshot.plan(query).windowIsApplied)
                query.hasOpaqueCondition = true
                #expect(try !snapshot.plan(query).windowIsApplied)
                query.hasOpaqueCondition = false
                query.order = [.init(position: 10, ascending: true), .init(position: 0, ascending: true)]
                let unordered = try snapshot.plan(query)
                #expect(unordered.filterIsExact && !unordered.orderIsExact && !unordered.windowIsApplied)
            }
        }
    }

    @Test func theGreatestWindowsAreNoTrouble() throws {
        try withStore { store in
            var descriptor = FetchDescriptor<Habit>(fetchLimit: .max, fetchOffset: 1)
            let behind = try store.fetch(descriptor).map(\.id)
            #expect(behind == [testID(2), testID(3)])
            descriptor.fetchOffset = .max
            let none = try (store.fetch(descriptor).count, store.fetchCount(descriptor))
            #expect(none == (0, 0))
        }
    }

    @Test func deepAndLongFiltersAreAnsweredAndNeverAnError() throws {
        try withStore { store in
            let isHigh = try FilterExpression(text: "streak > 15")
            var deep = isHigh
            for _ in 0..<60 { deep = .not(.not(deep)) }
            var nested = isHigh
            for _ in 0..<30 {
                nested = .and([.or([nested, .compare(.equal, .literal(.int(1)), .literal(.int(2)))]), isHigh])
            }
            var members = FilterExpression.always
            for number in (1...12).reversed() {
                // From a habit to its entries, from an entry through its habit to that one's entries, and so on.
                let owner = RecordPath(variable: number - 1, hops: number == 1 ? [] : ["habit"])
                members = .some(CollectionPath("entries", of: owner), variable: number, members)
            }
            let long = FilterExpression.or(
                (0..<5_000).map { .compare(.equal, .attribute(AttributePath("streak")), .literal(.int($0))) }
            )
            for (filter, count) in [(deep, 2), (nested, 2), (members, 3), (long, 3)] {
                #expect(try store.fetchCount(FetchDescriptor<Habit>(filter: filter)) == count)
            }
            let chain = (0..<900).map {
                FilterExpression.compare(.notEqual, .attribute(AttributePath("streak")), .literal(.int($0 + 100)))
            }
            #expect(try store.fetchCount(FetchDescriptor<Habit>(filter: .and(chain))) == 3)
            #expect(try store.explain(FetchDescriptor<Habit>(filter: .and(chain))).method == .native)
        }
    }

    @Test func longListsFindWhatTheyName() throws {
        try withStore { store in
            let ids = (UInt8(2)...255).map { Value.uuid(testID($0)) }
            let byID = FilterExpression.isIn(.attribute(AttributePath("id")), ids)
            #expect(try store.fetchIdentifiers(FetchDescriptor<Habit>(filter: byID)) == [testID(2), testID(3)])
            #expect(try store.explain(FetchDescriptor<Habit>(filter: byID)).accessPath == "primary key Habit")
            let numbers = [Int64.min, -1, 10, 30, .max] + (1_000..<1_100)
            let byStreak = FilterExpression.isIn(.attribute(AttributePath("streak")), numbers.map { .int($0) })
            #expect(try store.fetchIdentifiers(FetchDescriptor<Habit>(filter: byStreak)) == [testID(1), testID(3)])
            let extremes = Habit(id: testID(4), name: "least", streak: .min)
            try store.save(extremes)
            #expect(try store.fetchCount(FetchDescriptor<Habit>(filter: byStreak)) == 3)
        }
    }

    /// The bytes occur in the text, but with the combining mark after it the letter is another Character.
    @Test func aLetterBelowAMarkIsNotFound() throws {
        try withStore { store in
            try store.save(Habit(id: testID(4), name: "q\u{308}x"))
            for filter in ["name CONTAINS \"q\"", "name BEGINSWITH \"q\"", "name ENDSWITH \"\u{308}x\""] {
                #expect(try store.fetchCount(FetchDescriptor<Habit>(filter: FilterExpression(text: filter))) == 0)
            }
            let whole = try FilterExpression(text: "name CONTAINS \"q\u{308}\"")
            #expect(try store.fetchIdentifiers(FetchDescriptor<Habit>(filter: whole)) == [testID(4)])
        }
    }

    /// In the order of the changed attribute, each record would come again and again.
    @Test func aWalkIsNotOvertakenByChangesMeanwhile() throws {
        try withStore { store in
            let query = BoundQuery(entity: 0, order: [.init(position: 1, ascending: true)])
            var seen: [UUID] = []
            _ = try store.core.engine.write { writer in
                try writer.walk(try writer.plan(query)) { row in
                    let (id, record) = (try row.identifier(), try row.encoded())
                    seen.append(id)
                    let layout = Habit.entity.layout
                    var values = try record.values(layout)
                    values[1] = .string("z\(seen.count)")
                    let changed = try EncodedRecord(values, layout: layout)
                    try record.withView(layout) { old in
                        try changed.withView(layout) {
                            try writer.update(entity: 0, id: id, record: $0, replacing: old)
                        }
                    }
                    if seen.count == 1, let third = try writer.withRow(entity: 0, id: testID(3), { try $0.encoded() }) {
                        try third.withView(layout) { try writer.delete(entity: 0, id: testID(3), record: $0) }
                    }
                    return seen.count < 10
                }
            }
            #expect(seen == [testID(1), testID(2)])
            let names = try store.all(Habit.self).map(\.name)
            #expect(names == ["z1", "z2"])
        }
    }
}
