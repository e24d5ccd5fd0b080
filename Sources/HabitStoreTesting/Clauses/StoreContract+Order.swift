import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

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
