import Foundation
import HabitStore
import HabitTracker

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
