import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

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
