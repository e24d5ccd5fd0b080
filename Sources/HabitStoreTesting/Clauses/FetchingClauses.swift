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
            try expectAbandoned {
                try store.read { try $0.enumerate(FetchDescriptor<Draft>()) { _ in throw Abandoned() } }
            }
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

extension StoreContract {
    static let orderClauses: [Clause] = [
        Clause("without an order, records are ordered by the bytes of their identifiers") { bench in
            let store = try bench.habits()
            let drafts = (0..<200).map { Draft(content: "\($0)") }
            try store.insert(drafts)
            let expected = drafts.map(\.id).sorted { isBytewiseBefore($0, $1) }
            try expectEqual(try store.all(Draft.self).map(\.id), expected, "the identifiers")
            try expectEqual(try store.fetchIdentifiers(FetchDescriptor<Draft>()), expected, "the identifiers")
        },
        Clause("nil is first in ascending and last in descending order, and identifiers break ties") { bench in
            let store = try bench.habits()
            let values: [Double?] = [nil, 2, -1, nil, 2, 0, -0.0, 1e300]
            let entries = values.map { Entry(value: $0, habitID: nil) }
            try store.insert(entries)
            let ascending = entries.sorted { left, right in
                if (left.value == nil) != (right.value == nil) { return left.value == nil }
                if let a = left.value, let b = right.value, a != b { return a < b }
                return left.id.isBefore(right.id)
            }
            let forward = FetchDescriptor<Entry>(sortBy: [SortDescriptor(\.value)])
            try expectEqual(try store.fetchIdentifiers(forward), ascending.map(\.id), "the ascending order")
            let backward = FetchDescriptor<Entry>(sortBy: [SortDescriptor(\.value, order: .reverse)])
            let descending = Dictionary(grouping: ascending) { $0.value ?? -.infinity }
                .sorted { $0.key > $1.key }
                .flatMap(\.value)
            try expectEqual(try store.fetchIdentifiers(backward), descending.map(\.id), "the descending order")
        },
        Clause("text is ordered by its UTF-8 bytes") { bench in
            let store = try bench.contract()
            let texts = [
                "", "a", "A", "Z", "b", "aa", "a\0", "a\u{1}", "\u{e9}", "e", "f", "\u{1f600}", "\u{ffff}", "\u{3b1}",
                "a b", "a-b", "ab", "10", "9", "\u{df}", "ss",
            ]
            try store.insert(texts.shuffled().map { Specimen($0) })
            let expected = texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            let found = try store.fetch(FetchDescriptor<Specimen>(sortBy: [SortDescriptor(\.text)])).map(\.text)
            try expectEqual(found, expected, "the order")
            let back = FetchDescriptor<Specimen>(sortBy: [SortDescriptor(\.text, order: .reverse)])
            try expectEqual(try store.fetch(back).map(\.text), expected.reversed(), "the descending order")
        },
        Clause("long texts with a common prefix are ordered") { bench in
            let store = try bench.habits()
            let long = String(repeating: "y", count: 600)
            let names = ["", "\0", "a", "b", "ba", "c"].map { long + $0 }
            try store.insert(names.shuffled().map { Habit(name: $0) })
            let found = try store.fetch(FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.name)])).map(\.name)
            try expectEqual(found, names, "the order")
            let above = names[2]
            let behind = FetchDescriptor(
                predicate: #Predicate<Habit> { $0.name > above },
                sortBy: [SortDescriptor(\.name)]
            )
            try expectEqual(try store.fetch(behind).map(\.name), Array(names.dropFirst(3)), "the records after it")
        },
        Clause("several sort keys apply in turn, each in its direction") { bench in
            let store = try bench.habits()
            var habits: [Habit] = []
            for streak in 0..<4 {
                for category in [nil, "a", "b"] {
                    habits.append(Habit(name: "n", streak: streak, category: category))
                    habits.append(Habit(name: "m", streak: streak, category: category))
                }
            }
            try store.insert(habits.shuffled())
            let keys: [SortDescriptor<Habit>] = [
                SortDescriptor(\.category, order: .reverse), SortDescriptor(\.streak), SortDescriptor(\.name),
            ]
            let found = try store.fetch(FetchDescriptor<Habit>(sortBy: keys))
            let expected = ["b", "a", nil].flatMap { category in
                (0..<4).flatMap { streak in ["m", "n"].map { [category ?? "nil", "\(streak)", $0] } }
            }
            try expectEqual(found.map { [$0.category ?? "nil", "\($0.streak)", $0.name] }, expected, "the order")
        },
        Clause("whole numbers, instants and flags are ordered by their values") { bench in
            let store = try bench.habits()
            let numbers = [Int.min, -1, 0, 1, 255, 256, Int.max]
            try store.insert(
                numbers.shuffled().map { number in
                    Habit(
                        name: "x",
                        createdAt: Date(timeIntervalSinceReferenceDate: Double(number)),
                        streak: number,
                        isArchived: number >= 0
                    )
                }
            )
            for keys: [SortDescriptor<Habit>] in [
                [SortDescriptor(\.streak)], [SortDescriptor(\.createdAt), SortDescriptor(\.streak)],
            ] {
                let found = try store.fetch(FetchDescriptor(sortBy: keys)).map(\.streak)
                try expectEqual(found, numbers, "the order")
            }
            let query = RecordQuery(entity: "Habit", sort: [.init("isArchived", ascending: false), .init("streak")])
            let found = try store.read { try $0.records(query) }.map { $0.values[3] }
            try expectEqual(found, (numbers.suffix(5) + numbers.prefix(2)).map { .int(Int64($0)) }, "the order")
        },
    ]

    private static func isBytewiseBefore(_ left: UUID, _ right: UUID) -> Bool {
        withUnsafeBytes(of: left.uuid) { left in
            withUnsafeBytes(of: right.uuid) { right in left.lexicographicallyPrecedes(right) }
        }
    }
}

extension StoreContract {
    static let pagingClauses: [Clause] = [
        Clause("pages have every record once, in order, with nil and equal keys") { bench in
            let store = try bench.habits()
            let categories: [String?] = [nil, "a", nil, "b", "a", "", nil, "c", "a", "b", "\u{e9}"]
            try store.insert(categories.enumerated().map { Habit(name: "x", streak: $0 % 3, category: $1) })
            let orders: [[SortDescriptor<Habit>]] = [
                [], [SortDescriptor(\.category)], [SortDescriptor(\.category, order: .reverse)],
                [SortDescriptor(\.streak, order: .reverse), SortDescriptor(\.category)],
                [SortDescriptor(\.category, order: .reverse), SortDescriptor(\.streak)],
            ]
            for order in orders {
                for size in [1, 2, 3, 10, 11, 12, Int.max] {
                    let descriptor = FetchDescriptor<Habit>(sortBy: order)
                    let found = try pages(of: descriptor, size: size, in: store).flatMap { $0 }.map(\.id)
                    try expectEqual(found, try store.fetchIdentifiers(descriptor), "the records of pages of \(size)")
                }
            }
        },
        Clause("an offset is skipped once, before the first page") { bench in
            let store = try bench.habits()
            try store.insert((0..<20).map { Habit(name: "x", streak: $0) })
            var descriptor = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.streak)], fetchOffset: 3)
            var streaks: [Int] = []
            repeat {
                let page = try store.fetchPage(descriptor, size: 4)
                streaks += page.models.map(\.streak)
                descriptor.cursor = page.next
            } while descriptor.cursor != nil
            try expectEqual(streaks, Array(3..<20), "the records of all pages after the offset")
        },
        Clause("all pages together respect the fetch limit") { bench in
            let store = try bench.habits()
            try store.insert((0..<40).map { Habit(name: "x", streak: $0) })
            let order = [SortDescriptor(\Habit.streak)]
            // The page sizes for each limit, in pages of ten.
            let expected = [
                0: [0], 5: [5], 10: [10], 11: [10, 1], 25: [10, 10, 5], 40: [10, 10, 10, 10], 50: [10, 10, 10, 10],
            ]
            for (limit, sizes) in expected {
                let descriptor = FetchDescriptor<Habit>(sortBy: order, fetchLimit: limit)
                let found = try pages(of: descriptor, size: 10, in: store)
                try expectEqual(found.map(\.count), sizes, "the pages of a fetch of \(limit)")
                let whole = try store.fetchIdentifiers(descriptor)
                try expectEqual(found.flatMap { $0 }.map(\.id), whole, "the records of a fetch of \(limit)")
            }
            let passed = FetchDescriptor<Habit>(sortBy: order, fetchLimit: 12, fetchOffset: 3)
            let streaks = try pages(of: passed, size: 5, in: store).map { $0.map(\.streak) }
            try expectEqual(streaks, [Array(3..<8), Array(8..<13), [13, 14]], "the pages after an offset")
        },
        Clause("a negative limit is an error, not an empty fetch", refusesNegativeLimits),
        Clause("inserts and deletes between two pages neither repeat nor skip other records") { bench in
            let store = try bench.habits()
            let habits = (0..<40).map { Habit(name: "x", streak: $0 / 4 * 10) }
            try store.insert(habits)
            var descriptor = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.streak)])
            let order = try store.fetch(descriptor)
            var seen: [UUID] = []
            var round = 0
            repeat {
                let page = try store.fetchPage(descriptor, size: 3)
                seen += page.models.map(\.id)
                descriptor.cursor = page.next
                // The record at the cursor is deleted, and others are inserted before it.
                if let last = page.models.last { try store.delete(last) }
                try store.insert((0..<3).map { _ in Habit(name: "new", streak: -1 - round) })
                round += 1
            } while descriptor.cursor != nil
            try expectEqual(seen, order.map(\.id), "the records of all pages")
        },
        Clause("a page without records is empty, and a cursor of another order is refused") { bench in
            let store = try bench.habits()
            let empty = try store.fetchPage(FetchDescriptor<Habit>(), size: 5)
            try expectEqual(empty.models, [], "the records")
            try expectEqual(empty.next, nil, "the cursor")
            try store.insert((0..<5).map { Habit(name: "x", streak: $0) })
            let page = try store.fetchPage(FetchDescriptor<Habit>(), size: 2)
            let descriptor = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.streak)], cursor: page.next)
            try expectError(.invalidQuery) { try store.fetchPage(descriptor, size: 2) }
            // A cursor with as many keys of the same kinds, in the opposite order.
            var rising = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.streak)])
            rising.cursor = try store.fetchPage(rising, size: 2).next
            let falling = FetchDescriptor<Habit>(
                sortBy: [SortDescriptor(\.streak, order: .reverse)],
                cursor: rising.cursor
            )
            try expectError(.invalidQuery) { try store.fetchPage(falling, size: 2) }
            let named = FetchDescriptor<Habit>(sortBy: [SortDescriptor(\.name)], cursor: rising.cursor)
            try expectError(.invalidQuery) { try store.fetchPage(named, size: 2) }
            try expectEqual(try store.fetchPage(rising, size: 5).models.map(\.streak), [2, 3, 4], "the second page")
            try expectError(.invalidQuery) { try store.fetchPage(FetchDescriptor<Habit>(), size: 0) }
            let whole = try store.fetchPage(FetchDescriptor<Habit>(), size: 5)
            try expectEqual(whole.models.count, 5, "the number of records of the only page")
            try expectEqual(whole.next, nil, "the cursor after the only page")
        },
        Clause("pages of a filtered fetch have its records") { bench in
            let store = try bench.habits()
            try store.insert((0..<50).map { Habit(name: "x", streak: $0, isArchived: $0 % 5 == 0) })
            let descriptor = FetchDescriptor(
                predicate: #Predicate<Habit> { $0.isArchived },
                sortBy: [SortDescriptor(\.streak, order: .reverse)]
            )
            let found = try pages(of: descriptor, size: 4, in: store).map { $0.map(\.streak) }
            try expectEqual(found, [[45, 40, 35, 30], [25, 20, 15, 10], [5, 0]], "the pages")
        },
    ]

    private static func refusesNegativeLimits(_ bench: ContractBench) throws {
        let store = try bench.habits()
        try store.insert([Habit(name: "x")])
        let windows = [
            FetchDescriptor<Habit>(fetchLimit: -1), FetchDescriptor<Habit>(fetchLimit: -1, fetchOffset: 1),
            FetchDescriptor<Habit>(predicate: #Predicate { $0.name == "x" }, fetchLimit: .min),
        ]
        for descriptor in windows {
            try expectError(.invalidQuery, entity: "Habit") { try store.fetch(descriptor) }
            try expectError(.invalidQuery, entity: "Habit") { try store.fetchCount(descriptor) }
            try expectError(.invalidQuery, entity: "Habit") { try store.fetchIdentifiers(descriptor) }
            try expectError(.invalidQuery, entity: "Habit") { try store.fetchPage(descriptor, size: 1) }
            try expectError(.invalidQuery, entity: "Habit") { try store.explain(descriptor) }
            try expectError(.invalidQuery, entity: "Habit") { try store.write { try $0.delete(descriptor) } }
        }
        let query = RecordQuery(entity: "Habit", limit: -1)
        try expectError(.invalidQuery, entity: "Habit") { try store.read { try $0.records(query) } }
        try expectEqual(
            try store.fetchCount(FetchDescriptor<Habit>(fetchLimit: 0)),
            0,
            "the number of records of an empty fetch"
        )
    }

    private static func pages<M: PersistentModel>(
        of descriptor: FetchDescriptor<M>,
        size: Int,
        in store: any EngineBackedStore
    ) throws -> [[M]] {
        var descriptor = descriptor
        var pages: [[M]] = []
        repeat {
            let page = try store.fetchPage(descriptor, size: size)
            pages.append(page.models)
            descriptor.cursor = page.next
        } while descriptor.cursor != nil
        return pages
    }
}
