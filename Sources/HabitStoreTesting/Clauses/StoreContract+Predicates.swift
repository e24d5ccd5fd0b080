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
            let (habits, tags) = (habits, tags)
            try store.write { transaction in
                try tags.forEach(transaction.insert)
                try habits.forEach(transaction.insert)
                try entries.forEach(transaction.insert)
            }
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
