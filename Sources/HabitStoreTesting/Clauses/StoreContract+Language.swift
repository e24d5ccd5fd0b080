import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension StoreContract {
    /// The rest of the predicate language, including constructs that only evaluation can answer.
    static let languageClauses: [Clause] = [
        Clause("text can be compared and searched ignoring case") { bench in
            let sample = try PredicateSample(bench)
            let (same, ascending) = (ComparisonResult.orderedSame, ComparisonResult.orderedAscending)
            try sample.expect(#Predicate { $0.name.caseInsensitiveCompare("RUN") == same }, [1])
            try sample.expect(#Predicate { $0.name.caseInsensitiveCompare("run") == ascending }, [2, 4, 5])
            try sample.expect(#Predicate { $0.category?.caseInsensitiveCompare("sport") == same }, [1, 4])
            try sample.expect(#Predicate { $0.name.localizedStandardContains("RUN") }, [1, 3])
            try sample.expect(#Predicate { $0.name.localizedStandardContains("etude") }, [4])
            try sample.expect(#Predicate { $0.category?.localizedStandardContains("SPO") == true }, [1, 4])
        },
        Clause("conditions without a filter form are evaluated in Swift") { bench in
            let sample = try PredicateSample(bench)
            let ranks = ["Run": 1, "Read": 2]
            try sample.expect(#Predicate { $0.name.contains(/^[Rr]un/) }, [1, 3])
            try sample.expect(#Predicate { ranks[$0.name] != nil }, [1, 2])
            try sample.expect(#Predicate { ranks[$0.name, default: 7] + $0.streak == 4 }, [2])
            try sample.expect(#Predicate { $0.entries.first?.value != nil }, [1])
            try sample.expect(#Predicate { ($0.category as Any) is String }, [1, 3, 4])
            try sample.expect(#Predicate { ($0.target as Any) as? Double == 5 }, [1])
            try sample.expect(
                #Predicate { ($0.timesPerPeriod...($0.periodDays + 2)).contains($0.streak) },
                [1, 2, 3, 4]
            )
        },
        Clause("conditions of both kinds combine") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(#Predicate { $0.streak < 4 && $0.name.contains(/n/) && !$0.isArchived }, [1, 3])
            try sample.expect(#Predicate { $0.name.contains(/n/) || $0.streak == 5 }, [1, 3, 5])
            let one = 1
            try sample.expect(#Predicate { $0.name.contains(/n/) && $0.streak + one > 2 }, [3])
        },
        Clause("an operation on which Swift traps is an error wherever it occurs, for the first record in order") {
            bench in
            let sample = try PredicateSample(bench)
            let (most, zero) = (Int.max, 0)
            for predicate: Predicate<Habit> in [
                #Predicate { $0.name.contains(/zzz/) || $0.streak + most > 0 },
                #Predicate { $0.name.contains(/zzz/) || $0.streak / zero > 0 },
                #Predicate { ($0.streak...zero).contains(1) },
                #Predicate { $0.entries.count / zero == 1 },
            ] {
                let least = sample.habits.map(\.id).min { $0.isBefore($1) }
                for (limit, order) in [(nil, SortOrder.forward), (1, .forward), (1, .reverse)] as [(Int?, SortOrder)] {
                    let descriptor = FetchDescriptor(
                        predicate: predicate,
                        sortBy: [SortDescriptor(\.streak, order: order)],
                        fetchLimit: limit
                    )
                    try expectError(.evaluationFailed, entity: "Habit") { try sample.store.fetch(descriptor) }
                    try expectError(.evaluationFailed, entity: "Habit") { try sample.store.fetchCount(descriptor) }
                    do {
                        _ = try sample.store.fetch(descriptor)
                    } catch let error as HabitStoreError {
                        try expectEqual(error.location.id, least, "the record")
                    }
                }
            }
        },
        Clause("arithmetic on doubles is Swift's, up to infinity") { bench in
            let sample = try PredicateSample(bench)
            let (zero, most) = (0.0, Double.greatestFiniteMagnitude)
            try sample.expect(#Predicate { ($0.target ?? 1) / zero > most }, [1, 2, 4])
            try sample.expect(#Predicate { ($0.target ?? 1) / zero != ($0.target ?? 1) / zero }, [3])
            try sample.expect(#Predicate { ($0.target ?? 1) * most * 2 < 0 }, [5])
        },
        Clause("the least and the greatest of a list are found") { bench in
            let store = try bench.habits()
            try store.insert([
                Draft(content: "a", attachments: ["y", "x"]), Draft(content: "b", attachments: []),
                Draft(content: "c", attachments: ["\u{e9}", "e\u{301}z", "z"]),
            ])
            func contents(_ predicate: Predicate<Draft>) throws -> [String] {
                try store.fetch(FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\.content)])).map(
                    \.content
                )
            }
            try expectEqual(try contents(#Predicate { $0.attachments.min() == "x" }), ["a"], "least x")
            try expectEqual(try contents(#Predicate { $0.attachments.max() == "\u{e9}z" }), ["c"], "greatest \u{e9}z")
            try expectEqual(try contents(#Predicate { $0.attachments.min() == nil }), ["b"], "no least")
            try expectEqual(
                try contents(#Predicate { $0.attachments.contains { $0.count == 1 } }),
                ["a", "c"],
                "an element of one Character"
            )
        },
        Clause("filters can be composed, and the order of their parts matters") { bench in
            let sample = try PredicateSample(bench)
            let strong = Filter<Habit>(#Predicate { $0.streak >= 3 })
            let matched = Filter<Habit>(#Predicate { $0.name.contains(/n/) })
            let named = try Filter<Habit>(text: "category != nil")
            func streaks(_ filter: Filter<Habit>) throws -> [Int] {
                let descriptor = FetchDescriptor(filter: filter, sortBy: [SortDescriptor(\.streak)])
                try expectEqual(
                    try sample.store.fetchCount(descriptor),
                    try sample.store.fetch(descriptor).count,
                    "the count"
                )
                return try sample.store.fetch(descriptor).map(\.streak)
            }
            try expectEqual(try streaks(.all([strong, named])), [3, 4], "all")
            try expectEqual(try streaks(.any([matched, !named])), [1, 2, 3, 5], "any")
            try expectEqual(try streaks(!(strong || matched)), [2], "none")
            try expectEqual(try streaks(strong && matched && named), [3], "and")
            let zero = 0
            let failing = Filter<Habit>(#Predicate { $0.streak / zero == 1 })
            try expectError(.evaluationFailed) { try streaks(failing && .never) }
            try expectEqual(try streaks(.never && failing), [], "a condition that is not evaluated does not fail")
            try expectEqual(
                try streaks(!matched && .never && failing),
                [],
                "a condition that is not evaluated does not fail"
            )
        },
        Clause("every fetch counts the records that it examines") { bench in
            let sample = try PredicateSample(bench)
            try sample.store.read { transaction in
                let descriptor = FetchDescriptor(predicate: #Predicate<Habit> { $0.name.contains("u") })
                let work = try transaction.enumerate(descriptor) { _ in true }
                try expectEqual(work.returned, 3, "the records returned")
                try expect(work.examined >= 3 && work.examined <= 5, "no more records are examined than exist")
                try expectEqual(transaction.statistics, work, "the transaction's count")
                let analysis = try transaction.analyze(descriptor)
                try expectEqual(analysis.statistics.returned, 3, "the records returned")
                try expectEqual(analysis.explanation.method, try transaction.explain(descriptor).method, "the method")
            }
        },
    ]
}
