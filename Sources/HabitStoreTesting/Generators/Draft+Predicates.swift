import Foundation
import HabitStore
import HabitTracker

extension Draft: DifferentialModel {
    static let sortKeys: [DifferentialSortKey<Draft>] = [
        .init("content") { SortDescriptor(\.content, order: $0) },
        .init("creationDate") { SortDescriptor(\.creationDate, order: $0) },
        .init("id") { SortDescriptor(\.id, order: $0) },
    ]

    static let predicates: [PredicateTemplate<Draft>] = [
        .init("$0.attachments.contains(text)") { c in
            let text = c.text
            return #Predicate { $0.attachments.contains(text) }
        },
        .init("$0.attachments.isEmpty") { _ in #Predicate { $0.attachments.isEmpty } },
        .init("$0.attachments.count > number") { c in
            let number = c.number
            return #Predicate { $0.attachments.count > number }
        },
        .init("$0.attachments == texts") { c in
            let texts = c.texts
            return #Predicate { $0.attachments == texts }
        },
        .init("$0.content.contains(text)") { c in
            let text = c.text
            return #Predicate { $0.content.contains(text) }
        },
        .init("$0.content.count > number") { c in
            let number = c.number
            return #Predicate { $0.content.count > number }
        },
        .init("$0.creationDate == date") { c in
            let date = c.date
            return #Predicate { $0.creationDate == date }
        },
        .init("$0.content < text || $0.creationDate > date") { c in
            let (text, date) = (c.text, c.date)
            return #Predicate { $0.content < text || $0.creationDate > date }
        },
        .init("draft in draft.attachments.contains { $0 == draft.content }") { _ in
            #Predicate { draft in draft.attachments.contains { $0 == draft.content } }
        },
    ]
}
