import Foundation
import HabitStore
import HabitTracker

extension StoreContract {
    static let filterTextClauses: [Clause] = [
        Clause("filters written as text find the matching records") { bench in
            let sample = try PredicateSample(bench)
            for (text, streaks) in habitFilters {
                let query = RecordQuery(
                    entity: "Habit",
                    filter: try FilterExpression(text: text),
                    sort: [.init("streak")]
                )
                let (found, count) = try sample.store.read { moment in
                    (try moment.records(query).map { $0.values[3] }, try moment.countRecords(query))
                }
                try expectEqual(found, streaks.map { .int($0) }, "the answer to \(text)")
                try expectEqual(count, streaks.count, "the count of \(text)")
            }
        },
        Clause("dates in filter text are days and instants in UTC") { bench in
            let store = try bench.habits()
            let noon = Date(timeIntervalSince1970: 1_769_860_800)
            try store.save(Entry(date: noon, note: "noon", habitID: nil))
            for (text, count) in [
                ("date == \"2026-01-31T12:00:00Z\"", 1), ("date == \"2026-01-31T13:30:00+01:30\"", 1),
                ("date > \"2026-01-31\" AND date < \"2026-02-01\"", 1), ("date == \"2026-01-31\"", 0),
                ("date > \"2026-01-31T11:59:59.75Z\"", 1), ("date BETWEEN \"2026-01-31\" AND \"2026-01-31\"", 0),
                ("date == date(791553600)", 1), ("date IN [\"2026-01-31T12:00:00Z\"]", 1),
            ] {
                let query = RecordQuery(entity: "Entry", filter: try FilterExpression(text: text))
                try expectEqual(try store.read { try $0.countRecords(query) }, count, "the count of \(text)")
            }
        },
        Clause("a filter's constants are normalized like stored values") { bench in
            let sample = try PredicateSample(bench)
            let constants: [(FilterExpression, Int)] = [
                (.compare(.equal, .attribute(AttributePath("name")), .literal(.string("E\u{301}tude"))), 1),
                (.isIn(.attribute(AttributePath("name")), [.string("E\u{301}tude"), .string("Run")]), 2),
                (.text(.contains, .attribute(AttributePath("name")), .literal(.string("E\u{301}"))), 1),
                (.compare(.equal, .attribute(AttributePath("target")), .literal(.double(-0.0))), 1),
            ]
            for (filter, count) in constants {
                let query = RecordQuery(entity: "Habit", filter: filter)
                try expectEqual(try sample.store.read { try $0.countRecords(query) }, count, "the count of \(filter)")
            }
            let impossible = FilterExpression.compare(
                .less,
                .attribute(AttributePath("target")),
                .literal(.double(.nan))
            )
            try expectError(.invalidValue) {
                try sample.store.read { try $0.countRecords(RecordQuery(entity: "Habit", filter: impossible)) }
            }
        },
        Clause("an invalid filter text is refused with the column") { bench in
            let store = try bench.habits()
            for (text, column) in [
                ("name = ", 8), ("name == \"a", 9), ("(name == \"a\"", 13), ("name == \"a\" AND", 16), ("name ~ 3", 6),
                ("name == \"\\q\"", 10), ("streak IN 3", 11), ("\u{e9}\u{1f469}\u{200d}\u{1f680} == 1", 2),
                ("$x.name", 1),
            ] {
                let error = try expectError(.invalidQuery) { try FilterExpression(text: text) }
                try expectEqual(error.location.column, column, "the column of the error in \(text)")
            }
            for text in [
                "streak == \"x\"", "name + 1 == 2", "name", "streak CONTAINS \"a\"", "$3.name == \"a\"",
                "COALESCE(category, 1) == 1", "LENGTH(streak) == 1", "entries.note == \"a\"", "ANY name",
                "createdAt == \"31.1.2026\"", "id == \"x\"", "createdAt == \"2026-02-30\"",
            ] {
                let query = RecordQuery(entity: "Habit", filter: try FilterExpression(text: text))
                do {
                    let count = try store.read { try $0.countRecords(query) }
                    throw ContractViolation("\(text) was answered with \(count)")
                } catch let error as HabitStoreError {
                    let isTyped = error.code == .invalidQuery || error.code == .unknownAttribute
                    try expect(isTyped, "\(text) is refused as a query, not with \(error.code)")
                }
            }
            let unknown = RecordQuery(entity: "Habit", filter: try FilterExpression(text: "nam == \"x\""))
            try expectError(.unknownAttribute, entity: "Habit", attribute: "nam") {
                try store.read { try $0.records(unknown) }
            }
        },
    ]

    /// Filters over the sample of habits, and the streaks of the matching ones.
    private static let habitFilters: [(text: String, streaks: [Int64])] = [
        ("", [1, 2, 3, 4, 5]),
        ("TRUE", [1, 2, 3, 4, 5]),
        ("streak >= 2 AND streak < 4", [2, 3]),
        ("streak BETWEEN 2 AND 4 AND isArchived", [2]),
        ("NOT (streak = 1 OR streak == 2)", [3, 4, 5]),
        ("category == nil", [2, 5]),
        ("category != \"sport\"", [2, 3, 4, 5]),
        ("name CONTAINS \"un\"", [1, 3]),
        ("name CONTAINS[cd] \"RUN\"", [1, 3]),
        ("name CONTAINS[cd] \"etu\"", [4]),
        ("name BEGINSWITH \"R\" || name ENDSWITH \"te\"", [1, 2, 3]),
        ("name ENDSWITH \"\"", [1, 2, 3, 4, 5]),
        ("name == \"E\u{301}tude\"", [4]),
        ("name < \"S\"", [1, 2, 5]),
        ("category IN [\"sport\", nil]", [1, 2, 5]),
        ("streak IN []", []),
        ("LENGTH(name) == 5", [4]),
        ("LENGTH(category) == nil", [2, 5]),
        ("COALESCE(target, 0) > -1", [1, 2, 3, 4]),
        ("target < 1", [3, 5]),
        ("NOT target < 1", [1, 2, 4]),
        ("streak * 2 - 1 == 5", [3]),
        ("streak -1 == 2", [3]),
        ("streak % 2 == 1 AND streak / 2 == 2", [5]),
        ("IF(isArchived, streak, periodDays) == 2", [2]),
        ("ANY entries { note == nil }", [1]),
        ("ALL entries { value == nil }", [2, 3, 4, 5]),
        ("COUNT entries == 2", [1]),
        ("COUNT entries { note != nil } >= 1", [1, 2]),
        ("ANY tags { name == \"health\" }", [1, 3]),
        ("NOT ANY tags", [4, 5]),
        ("ANY entries { habit.streak == $0.streak }", [1, 2]),
        ("ANY entries { EXISTS habit AND habit.name == \"Run\" }", [1]),
        ("ANY tags { ANY habits { streak > $0.streak } }", [1, 2]),
        ("(category == nil) == isArchived", [1, 2, 3, 4]),
    ]
}

extension StoreContract {
    static let shapeClauses: [Clause] = ShapedQuestion.all.map { question in
        Clause("equal queries with different constants get their own answers: \(question.name)") { bench in
            var generator = SeededGenerator(seed: 11)
            let specimens = (0..<60).map { _ in Specimen(odd: &generator) }
            let store = try bench.contract()
            try store.write { transaction in for specimen in specimens { try transaction.insert(specimen) } }
            let all = try store.fetch(FetchDescriptor<Specimen>(sortBy: question.order))
            for _ in 0..<80 {
                let predicate = question.ask(generator.pick(specimens), generator.pick(specimens), &generator)
                try question.compare(predicate, all, store, &generator)
            }
        }
    }
}

/// A query whose predicates all have the same shape.
private struct ShapedQuestion: Sendable {
    let name: String
    var order: [SortDescriptor<Specimen>] = [SortDescriptor(\.moment)]
    /// Makes a predicate with constants of two records and random ones.
    let ask: @Sendable (Specimen, Specimen, inout SeededGenerator) -> Predicate<Specimen>

    static let all = [
        ShapedQuestion(name: "a range of numbers and a time") { first, second, _ in
            let (count, from, to) = (first.count, first.moment, second.moment)
            return #Predicate { $0.count == count && $0.moment >= from && $0.moment < to }
        },
        ShapedQuestion(name: "other attributes and operators of one type") { first, second, generator in
            let (token, serial) = (first.token, second.serial)
            switch generator.int(0...3) {
            case 0: return #Predicate { $0.token == token && $0.serial > serial }
            case 1: return #Predicate { $0.serial == token && $0.token > serial }
            case 2: return #Predicate { $0.token == token && $0.serial <= serial }
            default: return #Predicate { $0.token == token && $0.token < serial }
            }
        },
        ShapedQuestion(name: "numbers, nil, NaN and zeros of both signs") { first, _, generator in
            let number = generator.chance(30) ? generator.pick([nil, .nan, .infinity, -0.0, 0]) : first.optionalRatio
            return #Predicate { $0.optionalRatio == number }
        },
        ShapedQuestion(name: "a range of indexed integers", order: [SortDescriptor(\.count)]) {
            first,
            second,
            _ in
            let (least, most) = (first.count, second.count)
            return #Predicate { $0.count > least && $0.count <= most }
        },
        ShapedQuestion(name: "an indexed number and an optional time", order: []) { first, second, _ in
            let (count, moment) = (
                first.count, second.count == first.count ? second.optionalMoment : first.optionalMoment
            )
            return #Predicate { $0.count == count && $0.optionalMoment == moment }
        },
        ShapedQuestion(name: "a number with two lower bounds", order: [SortDescriptor(\.count, order: .reverse)]) {
            first,
            second,
            _ in
            let (least, other) = (first.count, second.count)
            return #Predicate { $0.count >= least && $0.count >= other }
        },
        ShapedQuestion(name: "a default for a nil number") { first, second, generator in
            let other = generator.chance(30) ? generator.pick([.nan, -.infinity, -0.0, 0]) : first.ratio
            let bound = second.ratio
            return #Predicate { ($0.optionalRatio ?? other) > bound }
        },
        ShapedQuestion(name: "texts in every form", order: [SortDescriptor(\.optionalText)]) { first, second, _ in
            let (text, least) = (first.text, second.text)
            return #Predicate { $0.text == text || $0.text >= least }
        },
        ShapedQuestion(name: "texts and nil", order: []) { first, _, _ in
            let text = first.optionalText
            return #Predicate { $0.optionalText != text }
        },
        ShapedQuestion(name: "Booleans", order: [SortDescriptor(\.count, order: .reverse)]) { first, second, _ in
            let (flag, other, count) = (first.flag, second.optionalFlag, first.count)
            return #Predicate { $0.flag == flag && !($0.optionalFlag == other && $0.count != count) }
        },
        ShapedQuestion(name: "a constant as a condition") { first, second, _ in
            let (flag, count) = (first.flag, second.count)
            return #Predicate { flag && $0.count <= count }
        },
        ShapedQuestion(name: "constants compared with each other") { first, second, _ in
            let (one, other, moment) = (first.count, second.count, second.optionalMoment)
            return #Predicate { one < other && $0.optionalMoment == moment }
        },
        ShapedQuestion(name: "a disjunction with times and nil") { first, second, _ in
            let (moment, token, count) = (first.optionalMoment, second.optionalToken, first.optionalCount)
            return #Predicate { $0.optionalMoment == moment || $0.optionalToken == token || $0.optionalCount == count }
        },
    ]

    /// Runs the query in several ways and compares the results with Swift's evaluation of all records.
    func compare(
        _ predicate: Predicate<Specimen>,
        _ all: [Specimen],
        _ store: any HabitStore,
        _ generator: inout SeededGenerator
    ) throws {
        let expected = try all.filter { try predicate.evaluate($0) }
        var descriptor = FetchDescriptor(predicate: predicate, sortBy: order)
        try expectEqual(try store.fetch(descriptor).map(\.id), expected.map(\.id), name)
        try expectEqual(try store.fetchCount(descriptor), expected.count, "the count of \(name)")
        descriptor.fetchOffset = generator.int(0...3)
        descriptor.fetchLimit = generator.chance(50) ? nil : generator.int(0...9)
        let window = expected.dropFirst(descriptor.fetchOffset).prefix(descriptor.fetchLimit ?? Int.max)
        try expectEqual(try store.fetchIdentifiers(descriptor), window.map(\.id), "a window of \(name)")
        let explanation = try store.read { try $0.explain(descriptor) }
        // The explanation's filter lacks some or all of what Foundation evaluates.
        guard !explanation.evaluatesPredicate else { return }
        let filter = try FilterExpression(predicate, schema: store.schema)
        try expectEqual(explanation.filter, filter.description, "the explanation of \(name)")
    }
}

extension Specimen {
    /// Random values that often coincide, some of them odd.
    fileprivate init(odd generator: inout SeededGenerator) {
        self.init(EdgeValues.text(&generator))
        id = EdgeValues.id(&generator)
        flag = generator.chance(50)
        optionalFlag = generator.chance(30) ? nil : generator.chance(50)
        count = EdgeValues.int(&generator)
        optionalCount = generator.chance(30) ? nil : EdgeValues.int(&generator)
        ratio = EdgeValues.double(&generator)
        optionalRatio = generator.chance(30) ? nil : EdgeValues.double(&generator)
        optionalText = generator.chance(30) ? nil : EdgeValues.text(&generator)
        moment = EdgeValues.date(&generator)
        optionalMoment = generator.chance(30) ? nil : EdgeValues.date(&generator)
        token = EdgeValues.id(&generator)
        optionalToken = generator.chance(30) ? nil : EdgeValues.id(&generator)
        serial = generator.identifier()
    }
}
