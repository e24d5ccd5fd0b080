import Foundation
import HabitStore
import HabitTracker

extension Tag: DifferentialModel {
    static let sortKeys: [DifferentialSortKey<Tag>] = [
        .init("name") { SortDescriptor(\.name, order: $0) },
        .init("id") { SortDescriptor(\.id, order: $0) },
    ]

    static let predicates: [PredicateTemplate<Tag>] = [
        .init("$0.name == text") { c in
            let text = c.text
            return #Predicate { $0.name == text }
        },
        .init("$0.name > text") { c in
            let text = c.text
            return #Predicate { $0.name > text }
        },
        .init("$0.habits.isEmpty") { _ in #Predicate { $0.habits.isEmpty } },
        .init("$0.habits.contains { $0.isArchived == flag }") { c in
            let flag = c.flag
            return #Predicate { $0.habits.contains { $0.isArchived == flag } }
        },
        .init("$0.habits.allSatisfy { $0.streak > number }") { c in
            let number = c.number
            return #Predicate { $0.habits.allSatisfy { $0.streak > number } }
        },
        .init("$0.habits.filter { $0.category == nil }.count >= number") { c in
            let number = c.number
            return #Predicate { $0.habits.filter { $0.category == nil }.count >= number }
        },
        .init("$0.habits.contains { $0.entries.contains { $0.value == nil } }") { _ in
            #Predicate { $0.habits.contains { $0.entries.contains { $0.value == nil } } }
        },
        .init("texts.contains($0.name)") { c in
            let texts = c.texts
            return #Predicate { texts.contains($0.name) }
        },
    ]
}
