import Foundation
import HabitStore
import HabitTracker

extension Entry: DifferentialModel {
    static let sortKeys: [DifferentialSortKey<Entry>] = [
        .init("date") { SortDescriptor(\.date, order: $0) },
        .init("note") { SortDescriptor(\.note, order: $0) },
        .init("value") { SortDescriptor(\.value, order: $0) },
        .init("id") { SortDescriptor(\.id, order: $0) },
    ]

    static let predicates: [PredicateTemplate<Entry>] = [
        .init("$0.habit == nil") { _ in #Predicate { $0.habit == nil } },
        .init("$0.habit != nil && $0.note == optional") { c in
            let optional = c.optionals[0]
            return #Predicate { $0.habit != nil && $0.note == optional }
        },
        .init("$0.habit?.name == text") { c in
            let text = c.text
            return #Predicate { $0.habit?.name == text }
        },
        .init("$0.habit?.category == optional") { c in
            let optional = c.optionals[0]
            return #Predicate { $0.habit?.category == optional }
        },
        .init("($0.habit?.streak ?? number) < upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { ($0.habit?.streak ?? number) < upper }
        },
        .init("$0.habit?.isArchived == flag") { c in
            let flag = c.flag
            return #Predicate { $0.habit?.isArchived == flag }
        },
        .init("$0.habit?.category?.contains(text) == flag") { c in
            let (text, flag) = (c.text, c.flag)
            return #Predicate { $0.habit?.category?.contains(text) == flag }
        },
        .init("$0.habit?.tags.contains { $0.name == text } == flag") { c in
            let (text, flag) = (c.text, c.flag)
            return #Predicate { $0.habit?.tags.contains { $0.name == text } == flag }
        },
        .init("($0.habit?.entries.count ?? number) > number") { c in
            let number = c.number
            return #Predicate { ($0.habit?.entries.count ?? number) > number }
        },
        .init("$0.habitID == id") { c in
            let id = c.ids[0]
            return #Predicate { $0.habitID == id }
        },
        .init("ids.contains($0.id) || $0.value == nil") { c in
            let ids = c.ids
            return #Predicate { ids.contains($0.id) || $0.value == nil }
        },
        .init("(date...end).contains($0.date)") { c in
            let (date, end) = (c.date, c.end)
            return #Predicate { (date...end).contains($0.date) }
        },
        .init("$0.date < date || $0.note != optional") { c in
            let (date, optional) = (c.date, c.optionals[0])
            return #Predicate { $0.date < date || $0.note != optional }
        },
        .init("($0.value ?? double) * 2 > double") { c in
            let double = c.double
            return #Predicate { ($0.value ?? double) * 2 > double }
        },
        .init("$0.value == double") { c in
            let double = c.double
            return #Predicate { $0.value == double }
        },
        .init("($0.note ?? text).isEmpty") { c in
            let text = c.text
            return #Predicate { ($0.note ?? text).isEmpty }
        },
        .init("entry in entry.habit.flatMap { habit in habit.name == (entry.note ?? text) } == flag") { c in
            let (text, flag) = (c.text, c.flag)
            return #Predicate { entry in entry.habit.flatMap { habit in habit.name == (entry.note ?? text) } == flag }
        },
        .init("$0.note.flatMap { $0 == text } == nil") { c in
            let text = c.text
            return #Predicate { $0.note.flatMap { $0 == text } == nil }
        },
    ]
}
