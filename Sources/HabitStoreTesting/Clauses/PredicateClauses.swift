import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension StoreContract {
    /// Five habits, with streaks from 1 to 5, whose answers can be worked out by hand.
    struct PredicateSample {
        let store: any EngineBackedStore
        let habits: [Habit]
        let tags: [Tag]

        init(_ bench: ContractBench) throws {
            store = try bench.habits()
            tags = ["health", "work"].map { Tag(name: $0) }
            let health = tags[0].id
            let work = tags[1].id
            habits = [
                Habit(name: "Run", streak: 1, category: "sport", unit: "km", target: 5, tagIDs: [health]),
                Habit(name: "Read", streak: 2, category: nil, isArchived: true, tagIDs: [work]),
                Habit(name: "running late", streak: 3, category: "", target: 0, tagIDs: [health, work]),
                Habit(name: "\u{c9}tude", streak: 4, category: "Sport", timesPerPeriod: 3, periodDays: 7, unit: ""),
                Habit(name: "", streak: 5, category: nil, target: -2.5),
            ]
            let entries = [
                Entry(date: Self.day(1), note: "wet", value: 5, habitID: habits[0].id),
                Entry(date: Self.day(2), note: nil, value: 7.5, habitID: habits[0].id),
                Entry(date: Self.day(3), note: "", value: nil, habitID: habits[1].id),
                Entry(date: Self.day(4), note: "loose", value: 1, habitID: nil),
            ]
            try store.insertAll(tags + habits + entries)
        }

        static func day(_ number: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(number) * 86_400) }

        /// Checks which habits fulfil a predicate, by their streaks.
        func expect(
            _ predicate: Predicate<Habit>,
            _ streaks: [Int],
            fileID: String = #fileID,
            line: Int = #line
        ) throws {
            let descriptor = FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\Habit.streak)])
            let found = try store.fetch(descriptor).map(\.streak)
            try expectEqual(found, streaks, "the streaks", fileID: fileID, line: line)
            try expectEqual(try store.fetchCount(descriptor), streaks.count, "the count", fileID: fileID, line: line)
        }

        /// Checks which entries fulfil a predicate, by their days.
        func expectDays(
            _ predicate: Predicate<Entry>,
            _ days: [Int],
            fileID: String = #fileID,
            line: Int = #line
        ) throws {
            let descriptor = FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\Entry.date)])
            let found = try store.fetch(descriptor).map { Int($0.date.timeIntervalSinceReferenceDate / 86_400) }
            try expectEqual(found, days, "the days", fileID: fileID, line: line)
        }
    }

    static let predicateClauses: [Clause] = [
        Clause("comparisons work as in Swift") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(#Predicate { $0.streak == 3 }, [3])
            try sample.expect(#Predicate { $0.streak != 3 }, [1, 2, 4, 5])
            try sample.expect(#Predicate { 2 < $0.streak }, [3, 4, 5])
            try sample.expect(#Predicate { $0.streak <= 2 }, [1, 2])
            try sample.expect(#Predicate { !($0.streak >= 2) }, [1])
            try sample.expect(#Predicate { $0.name < "S" }, [1, 2, 5])
            try sample.expect(#Predicate { $0.name == "E\u{301}tude" }, [4])
            try sample.expect(#Predicate { $0.isArchived }, [2])
            try sample.expect(#Predicate { !$0.isArchived && $0.streak > 3 || $0.name == "Read" }, [2, 4, 5])
            try sample.expect(
                #Predicate { $0.streak > $0.timesPerPeriod && $0.timesPerPeriod >= $0.periodDays },
                [2, 3, 5]
            )
            try sample.expect(Predicate.true, [1, 2, 3, 4, 5])
            try sample.expect(Predicate.false, [])
        },
        Clause("text is searched by Characters, case-sensitively") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(#Predicate { $0.name.contains("un") }, [1, 3])
            try sample.expect(#Predicate { $0.name.contains("") }, [1, 2, 3, 4, 5])
            try sample.expect(#Predicate { $0.name.starts(with: "R") }, [1, 2])
            try sample.expect(#Predicate { $0.name.starts(with: "E") }, [])
            try sample.expect(#Predicate { $0.name.contains("E\u{301}") }, [4])
            try sample.expect(#Predicate { $0.name.count == 5 }, [4])
            try sample.expect(#Predicate { $0.name.isEmpty }, [5])
            try sample.expect(#Predicate { $0.name.contains("%") || $0.name.contains("_") }, [])
        },
        Clause("captured lists, sets and ranges work as constants") { bench in
            let sample = try PredicateSample(bench)
            let streaks = [5, 2, 9]
            let names: Set<String> = ["Run", "E\u{301}tude"]
            let ids = sample.habits.prefix(2).map(\.id)
            let categories: [String?] = [nil, "Sport"]
            let (low, high) = (2, 4)
            try sample.expect(#Predicate { streaks.contains($0.streak) }, [2, 5])
            try sample.expect(#Predicate { names.contains($0.name) }, [1, 4])
            try sample.expect(#Predicate { ids.contains($0.id) }, [1, 2])
            try sample.expect(#Predicate { !ids.contains($0.id) }, [3, 4, 5])
            try sample.expect(#Predicate { categories.contains($0.category) }, [2, 4, 5])
            try sample.expect(#Predicate { (low...high).contains($0.streak) }, [2, 3, 4])
            try sample.expect(#Predicate { (low..<high).contains($0.streak) }, [2, 3])
            let none: [UUID] = []
            try sample.expect(#Predicate { none.contains($0.id) }, [])
        },
        Clause("arithmetic is Swift's, and a trap is an error") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(#Predicate { $0.streak * 2 + 1 == 7 }, [3])
            try sample.expect(#Predicate { $0.streak - 3 > $0.periodDays - 2 }, [3, 5])
            try sample.expect(#Predicate { $0.streak % 2 == 0 }, [2, 4])
            try sample.expect(#Predicate { $0.streak / 2 == 1 }, [2, 3])
            try sample.expect(#Predicate { -$0.streak < -3 }, [4, 5])
            let (most, zero) = (Int.max, 0)
            for predicate: Predicate<Habit> in [
                #Predicate { $0.streak + most > 0 }, #Predicate { $0.streak * most > 0 },
                #Predicate { $0.streak / zero > 0 },
                #Predicate { $0.streak % zero == 0 }, #Predicate { -most - $0.streak < zero },
            ] {
                let descriptor = FetchDescriptor(predicate: predicate)
                try expectError(.evaluationFailed) { try sample.store.fetch(descriptor) }
                try expectError(.evaluationFailed) { try sample.store.fetchCount(descriptor) }
                try expectError(.evaluationFailed) { try sample.store.fetchIdentifiers(descriptor) }
                try expectError(.evaluationFailed) { try sample.store.delete(Habit.self, where: predicate) }
            }
            // Terms after a condition that decides the result are not evaluated.
            try sample.expect(#Predicate { $0.streak > 5 && $0.streak + most > 0 }, [])
            try sample.expect(#Predicate { $0.streak > 0 || $0.streak + most > 0 }, [1, 2, 3, 4, 5])
            try expectEqual(try sample.store.fetchCount(FetchDescriptor<Habit>()), 5, "the number of habits")
        },
        Clause("a ternary is decided for each record") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(#Predicate { $0.isArchived ? $0.streak == 2 : $0.streak == 3 }, [2, 3])
            try sample.expect(#Predicate { ($0.streak > 3 ? $0.timesPerPeriod : $0.streak) == 3 }, [3, 4])
        },
        Clause("instants, identifiers, data, lists and enums are compared as values", comparesOtherKinds),
    ]

    private static func comparesOtherKinds(_ bench: ContractBench) throws {
        let store = try bench.contract()
        var full = fullSpecimen()
        full.text = "full"
        let plain = Specimen("plain")
        try store.insert([full, plain])
        let (bytes, words, bad, middle, moment) = (full.bytes, full.words, Mood.bad, Level.middle, full.moment)
        let (token, empty, theme) = (plain.token, [String](), full.settings)
        let cases: [(Predicate<Specimen>, [String])] = [
            (#Predicate { $0.bytes == bytes }, ["full"]),
            (#Predicate { $0.optionalBytes == nil }, ["plain"]),
            (#Predicate { $0.words == words }, ["full"]),
            (#Predicate { $0.words == empty }, ["plain"]),
            (#Predicate { $0.words.contains("two") }, ["full"]),
            (#Predicate { $0.words.isEmpty }, ["plain"]),
            (#Predicate { $0.words.count == 2 }, ["full"]),
            (#Predicate { $0.mood == bad }, ["full"]),
            (#Predicate { $0.mood.rawValue == "good" }, ["plain"]),
            (#Predicate { $0.optionalMood == nil }, ["plain"]),
            (#Predicate { $0.optionalMood != bad }, ["full", "plain"]),
            (#Predicate { $0.moment >= moment }, ["full"]),
            (#Predicate { $0.token == token }, ["plain"]),
            (#Predicate { $0.settings == theme }, ["full"]),
            (#Predicate { $0.settings.sizes.contains(2) }, ["full"]),
            // `Level` orders itself opposite to its raw values.
            (#Predicate { $0.level < middle }, ["full"]),
            (#Predicate { $0.level.rawValue < 0 }, ["plain"]),
            (#Predicate { $0.optionalFlag == false }, ["full"]),
            (#Predicate { $0.ratio * 2 > 0.25 }, ["full"]),
        ]
        for (number, (predicate, texts)) in cases.enumerated() {
            let descriptor = FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\Specimen.text)])
            try expectEqual(try store.fetch(descriptor).map(\.text), texts, "the answer to case \(number)")
            try expectEqual(try store.fetchCount(descriptor), texts.count, "the count of case \(number)")
        }
    }
}

extension StoreContract {
    static let optionalPredicateClauses: [Clause] = [
        Clause("nil equals nil and nothing else") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(#Predicate { $0.category == nil }, [2, 5])
            try sample.expect(#Predicate { $0.category != nil }, [1, 3, 4])
            try sample.expect(#Predicate { $0.category != "sport" }, [2, 3, 4, 5])
            try sample.expect(#Predicate { !($0.category == "sport") }, [2, 3, 4, 5])
            try sample.expect(#Predicate { $0.category == $0.unit }, [2, 5])
            let none: String? = nil
            let some: String? = "Sport"
            try sample.expect(#Predicate { $0.category == none }, [2, 5])
            try sample.expect(#Predicate { $0.category == some }, [4])
            try sample.expect(#Predicate { $0.target != 5 }, [2, 3, 4, 5])
        },
        Clause("?? and optional chaining work as in Swift") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(#Predicate { ($0.category ?? "none") == "none" }, [2, 5])
            try sample.expect(#Predicate { ($0.category ?? $0.name) == "Read" }, [2])
            try sample.expect(#Predicate { ($0.target ?? 0) > -1 }, [1, 2, 3, 4])
            try sample.expect(#Predicate { ($0.category?.count ?? -1) == 0 }, [3])
            try sample.expect(#Predicate { $0.category?.isEmpty == true }, [3])
            try sample.expect(#Predicate { $0.category?.contains("port") == true }, [1, 4])
            try sample.expect(#Predicate { $0.category?.contains("port") != true }, [2, 3, 5])
            try sample.expect(#Predicate { $0.category?.starts(with: "S") ?? true }, [2, 4, 5])
            try sample.expect(#Predicate { $0.category.flatMap { $0 == "sport" } == nil }, [2, 5])
        },
        Clause("a failed binding takes the else branch") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(
                #Predicate { habit in
                    if let target = habit.target { target >= 0 } else { habit.isArchived }
                },
                [1, 2, 3]
            )
        },
        Clause("to-one relationships are followed, and end at nil") { bench in
            let sample = try PredicateSample(bench)
            try sample.expectDays(#Predicate { $0.habit == nil }, [4])
            try sample.expectDays(#Predicate { $0.habit != nil }, [1, 2, 3])
            try sample.expectDays(#Predicate { $0.habit?.name == "Run" }, [1, 2])
            try sample.expectDays(#Predicate { $0.habit?.name != "Run" }, [3, 4])
            try sample.expectDays(#Predicate { $0.habit?.category == nil }, [3, 4])
            try sample.expectDays(#Predicate { ($0.habit?.streak ?? 0) < 2 }, [1, 2, 4])
            try sample.expectDays(#Predicate { $0.habit?.isArchived == true }, [3])
            try sample.expectDays(#Predicate { $0.habit?.category?.contains("por") == true }, [1, 2])
            try sample.expectDays(#Predicate { entry in entry.habit.flatMap { _ in entry.note } == nil }, [2, 4])
            let ids = sample.habits.map(\.id)
            try sample.expectDays(#Predicate { $0.habitID.flatMap { ids.contains($0) } == true }, [1, 2, 3])
        },
        Clause("force-unwrapping nil is an error") { bench in
            let sample = try PredicateSample(bench)
            // swift-format-ignore: NeverForceUnwrap
            let forced = #Predicate<Habit> { $0.category!.contains("s") }
            try expectError(.evaluationFailed, entity: "Habit") {
                try sample.store.fetch(FetchDescriptor(predicate: forced))
            }
            try expectError(.evaluationFailed, entity: "Habit") {
                try sample.store.fetchCount(FetchDescriptor(predicate: forced))
            }
            // swift-format-ignore: NeverForceUnwrap
            try sample.expect(#Predicate { $0.category != nil && $0.category!.contains("sp") }, [1])
        },
    ]

    static let collectionPredicateClauses: [Clause] = [
        Clause("contains, allSatisfy and isEmpty examine the related records") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(#Predicate { $0.entries.isEmpty }, [3, 4, 5])
            try sample.expect(#Predicate { !$0.entries.isEmpty }, [1, 2])
            try sample.expect(#Predicate { $0.entries.contains { $0.note == nil } }, [1])
            try sample.expect(#Predicate { $0.entries.contains { ($0.value ?? 0) > 6 } }, [1])
            try sample.expect(#Predicate { $0.entries.allSatisfy { $0.value == nil } }, [2, 3, 4, 5])
            try sample.expect(#Predicate { !$0.entries.allSatisfy { $0.note == "wet" } }, [1, 2])
        },
        Clause("related records are counted, with or without a condition") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(#Predicate { $0.entries.count == 2 }, [1])
            try sample.expect(#Predicate { $0.entries.count < 1 }, [3, 4, 5])
            try sample.expect(#Predicate { $0.entries.filter { $0.note != nil }.count == 1 }, [1, 2])
            try sample.expect(#Predicate { $0.entries.filter { $0.value != nil }.isEmpty }, [2, 3, 4, 5])
            try sample.expect(#Predicate { $0.tags.count == 2 }, [3])
        },
        Clause("predicates follow many-to-many relationships from both sides") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(#Predicate { $0.tags.contains { $0.name == "health" } }, [1, 3])
            try sample.expect(#Predicate { $0.tags.isEmpty }, [4, 5])
            try sample.expect(#Predicate { $0.tags.allSatisfy { $0.name == "work" } }, [2, 4, 5])
            let busy = FetchDescriptor(predicate: #Predicate<Tag> { $0.habits.contains { $0.isArchived } })
            try expectEqual(try sample.store.fetch(busy).map(\.name), ["work"], "the tags of archived habits")
            let both = FetchDescriptor(predicate: #Predicate<Tag> { $0.habits.count == 2 })
            try expectEqual(try sample.store.fetchCount(both), 2, "the number of tags that two habits have")
        },
        Clause("conditions on related records nest, and can refer to the outer record") { bench in
            let sample = try PredicateSample(bench)
            try sample.expect(
                #Predicate { habit in habit.entries.contains { ($0.habit?.streak ?? 0) == habit.streak } },
                [1, 2]
            )
            try sample.expect(
                #Predicate { habit in habit.tags.contains { tag in tag.habits.contains { $0.streak > habit.streak } } },
                [1, 2]
            )
            try sample.expectDays(#Predicate { $0.habit?.entries.count == 2 }, [1, 2])
            try sample.expectDays(#Predicate { $0.habit?.tags.contains { $0.name == "work" } == true }, [3])
            try sample.expectDays(#Predicate { $0.habit?.tags.isEmpty ?? true }, [4])
            let nested = FetchDescriptor(
                predicate: #Predicate<Tag> { $0.habits.allSatisfy { $0.entries.allSatisfy { $0.note != nil } } }
            )
            try expectEqual(try sample.store.fetch(nested).map(\.name), ["work"], "the tags")
        },
    ]
}

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
