import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension StoreContract {
    static let fetchingClauses: [Clause] = [
        Clause("limit and offset apply to the order; limit 0 and an offset past the end return nothing") { bench in
            let store = try bench.habits()
            try store.insert((0..<10).map { Habit(name: "x", streak: $0) }.shuffled())
            let windows: [(limit: Int?, offset: Int, expected: [Int])] = [
                (nil, 0, Array(0..<10)), (0, 0, []), (0, 3, []), (3, 0, [0, 1, 2]), (3, 8, [8, 9]),
                (nil, 7, [7, 8, 9]),
                (nil, 10, []), (5, 11, []), (2, -4, [0, 1]), (Int.max, 9, [9]), (1, Int.max, []),
                (nil, Int.max, []), (Int.max, 0, Array(0..<10)),
            ]
            for (limit, offset, expected) in windows {
                let window = "limit \(limit.map(String.init) ?? "nil"), offset \(offset)"
                for keys: [SortDescriptor<Habit>] in [
                    [SortDescriptor(\.streak)], [SortDescriptor(\.streak, order: .reverse)],
                ] {
                    let isForward = keys.first?.order == .forward
                    let descriptor = FetchDescriptor(
                        predicate: isForward ? nil : #Predicate<Habit> { $0.streak > -1 },
                        sortBy: keys,
                        fetchLimit: limit,
                        fetchOffset: offset
                    )
                    let wanted = isForward ? expected : expected.map { 9 - $0 }
                    try expectEqual(try store.fetch(descriptor).map(\.streak), wanted, "the result of \(window)")
                    try expectEqual(try store.fetchCount(descriptor), wanted.count, "the count of \(window)")
                    let identifiers = try store.fetchIdentifiers(descriptor).count
                    try expectEqual(identifiers, wanted.count, "the number of identifiers of \(window)")
                }
            }
        },
        Clause("counts, identifiers, projections and records agree with the fetch", everyFormAgrees),
        Clause("an enumeration ends when its consumer stops it") { bench in
            let store = try bench.habits()
            try store.insert((0..<100).map { Draft(content: "\($0)") })
            try store.read { moment in
                var seen = 0
                let statistics = try moment.enumerate(FetchDescriptor<Draft>()) { _ in
                    seen += 1
                    return seen < 7
                }
                try expectEqual(seen, 7, "the number of records that the consumer received")
                try expectEqual(statistics.returned, 7, "the number of returned records")
                try expect(statistics.examined <= 8, "records after the last one are not examined")
            }
            do {
                try store.read { moment in
                    _ = try moment.enumerate(FetchDescriptor<Draft>()) { _ in throw Abandoned() }
                }
                throw ContractViolation("the consumer's error was not rethrown")
            } catch is Abandoned {}
        },
        Clause("batches have every record once, in order") { bench in
            let store = try bench.habits()
            try store.insert((0..<23).map { Habit(name: "x", streak: $0) }.shuffled())
            let descriptor = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.streak)])
            for size in [1, 5, 23, 24, 0] {
                var batches: [[Int]] = []
                try store.read { moment in
                    try moment.enumerate(descriptor, batchSize: size) { batches.append($0.map(\.streak)) }
                }
                try expectEqual(batches.flatMap { $0 }, Array(0..<23), "the records of batches of \(size)")
                try expect(
                    batches.dropLast().allSatisfy { $0.count == max(1, size) },
                    "all batches but the last are full"
                )
                try expect(batches.allSatisfy { !$0.isEmpty }, "no batch is empty")
            }
        },
        Clause("a filter and a predicate must both hold") { bench in
            let store = try bench.habits()
            try store.insert((0..<10).map { Habit(name: "x", streak: $0, isArchived: $0 % 2 == 0) })
            let descriptor = FetchDescriptor(
                predicate: #Predicate<Habit> { $0.streak > 3 },
                filter: try Filter(text: "isArchived AND streak < 8"),
                sortBy: [SortDescriptor(\.streak)]
            )
            try expectEqual(try store.fetch(descriptor).map(\.streak), [4, 6], "the streaks")
            try expectEqual(try store.fetchCount(descriptor), 2, "the count")
        },
        Clause("an explanation names an access path and does not change the answer") { bench in
            let store = try bench.habits()
            try store.insert((0..<10).map { Habit(name: "x", streak: $0) })
            let descriptor = FetchDescriptor(predicate: #Predicate<Habit> { $0.streak > 3 })
            let explanation = try store.explain(descriptor)
            try expect(!explanation.accessPath.isEmpty, "the access path has a name")
            try expect(explanation.description.contains(explanation.accessPath), "the access path is in the line")
            let text = try store.read { try $0.explain(RecordQuery(entity: "Habit", filter: .never)).filter }
            try expectEqual(text, "false", "the filter's text")
            try expectEqual(try store.fetchCount(descriptor), 6, "the count")
        },
        Clause("only stored attributes can be sorted and projected") { bench in
            let store = try bench.habits()
            try expectError(.unsupported, entity: "Habit") {
                try store.fetch(FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.name.count)]))
            }
            try expectError(.unsupported, entity: "Habit") {
                try store.project(FetchDescriptor<Habit>(), [\.entries])
            }
            let query = RecordQuery(entity: "Habit", sort: [.init("nothing")])
            try expectError(.unknownAttribute, entity: "Habit", attribute: "nothing") {
                try store.read { try $0.records(query) }
            }
            try expectError(.unknownEntity) { try store.read { try $0.countRecords(RecordQuery(entity: "Nothing")) } }
        },
    ]

    private static func everyFormAgrees(_ bench: ContractBench) throws {
        let store = try bench.contract()
        var specimens: [Specimen] = []
        for number in 0..<30 {
            var specimen = Specimen("text \(number % 7)")
            specimen.count = number
            specimen.optionalRatio = number % 3 == 0 ? nil : Double(number) / 2
            specimen.words = number % 2 == 0 ? [] : ["\(number)"]
            specimen.mood = number % 2 == 0 ? .good : .bad
            specimens.append(specimen)
        }
        try store.insert(specimens.shuffled())
        let descriptor = FetchDescriptor(
            predicate: #Predicate<Specimen> { $0.count >= 5 && $0.text != "text 3" },
            sortBy: [SortDescriptor(\.text, order: .reverse), SortDescriptor(\.count)],
            fetchLimit: 9,
            fetchOffset: 2
        )
        let models = try store.fetch(descriptor)
        try expectEqual(models.count, 9, "the number of records")
        try expectEqual(try store.fetchCount(descriptor), 9, "the count")
        try expectEqual(try store.fetchIdentifiers(descriptor), models.map(\.id), "the identifiers")
        let keyPaths: [PartialKeyPath<Specimen>] = [\.text, \.optionalRatio, \.words, \.mood]
        for (projection, model) in zip(try store.project(descriptor, keyPaths), models) {
            try expectEqual(projection.id, model.id, "the identifier of a projection")
            try expectEqual(projection[\.text], model.text, "a projected text")
            try expectEqual(projection[\.optionalRatio], .some(model.optionalRatio), "a projected optional number")
            try expectEqual(projection[\.words], model.words, "a projected list")
            try expectEqual(projection[\.mood], model.mood, "a projected enum")
            try expectEqual(projection[\.count], nil, "an attribute that was not asked for")
        }
        let query = RecordQuery(
            entity: "specimen",
            filter: try FilterExpression(text: "`count` >= 5 AND text != \"text 3\""),
            sort: [.init("text", ascending: false), .init("count")],
            limit: 9,
            offset: 2
        )
        let records = try store.read { try $0.records(query) }
        try expectEqual(records.map(\.id), models.map(\.id), "the identifiers of the records")
        for (record, model) in zip(records, models) {
            let attributes = Specimen.entity.attributes
            try expectEqual(record.values.count, attributes.count, "the number of values")
            try expectEqual(record.values[0], .uuid(model.id), "the first value")
            let position = try require(Specimen.entity.position(of: "optionalRatio"), "the position")
            try expectEqual(record.values[position], model.optionalRatio.map { .double($0) } ?? .null, "a value")
        }
        try expectEqual(try store.read { try $0.countRecords(query) }, 9, "the count of the records")
    }
}
