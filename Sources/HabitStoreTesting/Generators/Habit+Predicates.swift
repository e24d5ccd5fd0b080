import Foundation
import HabitStore
import HabitTracker

extension Habit: DifferentialModel {
    static let sortKeys: [DifferentialSortKey<Habit>] = [
        .init("name") { SortDescriptor(\.name, order: $0) },
        .init("createdAt") { SortDescriptor(\.createdAt, order: $0) },
        .init("streak") { SortDescriptor(\.streak, order: $0) },
        .init("category") { SortDescriptor(\.category, order: $0) },
        .init("timesPerPeriod") { SortDescriptor(\.timesPerPeriod, order: $0) },
        .init("unit") { SortDescriptor(\.unit, order: $0) },
        .init("target") { SortDescriptor(\.target, order: $0) },
        .init("id") { SortDescriptor(\.id, order: $0) },
    ]

    static let predicates: [PredicateTemplate<Habit>] = [
        .init("$0.name == text") { c in
            let text = c.text
            return #Predicate { $0.name == text }
        },
        .init("$0.name != text") { c in
            let text = c.text
            return #Predicate { $0.name != text }
        },
        .init("$0.name < text") { c in
            let text = c.text
            return #Predicate { $0.name < text }
        },
        .init("$0.name >= text") { c in
            let text = c.text
            return #Predicate { $0.name >= text }
        },
        .init("$0.name.contains(text)") { c in
            let text = c.text
            return #Predicate { $0.name.contains(text) }
        },
        .init("$0.name.starts(with: text)") { c in
            let text = c.text
            return #Predicate { $0.name.starts(with: text) }
        },
        .init("$0.name.count == number") { c in
            let number = c.number
            return #Predicate { $0.name.count == number }
        },
        .init("$0.name.isEmpty || $0.unit == optional") { c in
            let optional = c.optionals[0]
            return #Predicate { $0.name.isEmpty || $0.unit == optional }
        },
        .init("texts.contains($0.name)") { c in
            let texts = c.texts
            return #Predicate { texts.contains($0.name) }
        },
        .init("optionals.contains($0.category)") { c in
            let optionals = c.optionals
            return #Predicate { optionals.contains($0.category) }
        },
        .init("$0.category == optional") { c in
            let optional = c.optionals[0]
            return #Predicate { $0.category == optional }
        },
        .init("$0.category != optional && $0.isArchived == flag") { c in
            let (optional, flag) = (c.optionals[0], c.flag)
            return #Predicate { $0.category != optional && $0.isArchived == flag }
        },
        .init("($0.category ?? text) == $0.name") { c in
            let text = c.text
            return #Predicate { ($0.category ?? text) == $0.name }
        },
        .init("$0.category?.contains(text) == true") { c in
            let text = c.text
            return #Predicate { $0.category?.contains(text) == true }
        },
        .init("$0.category?.contains(text) != true") { c in
            let text = c.text
            return #Predicate { $0.category?.contains(text) != true }
        },
        .init("$0.category?.starts(with: text) ?? flag") { c in
            let (text, flag) = (c.text, c.flag)
            return #Predicate { $0.category?.starts(with: text) ?? flag }
        },
        .init("($0.category?.count ?? number) <= upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { ($0.category?.count ?? number) <= upper }
        },
        .init("($0.unit ?? text) < text") { c in
            let text = c.text
            return #Predicate { ($0.unit ?? text) < text }
        },
        .init("$0.streak >= number && $0.streak < upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { $0.streak >= number && $0.streak < upper }
        },
        .init("(number...upper).contains($0.streak)") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { (number...upper).contains($0.streak) }
        },
        .init("(number..<upper).contains($0.timesPerPeriod)") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { (number..<upper).contains($0.timesPerPeriod) }
        },
        .init("!($0.streak <= number) || $0.isArchived") { c in
            let number = c.number
            return #Predicate { !($0.streak <= number) || $0.isArchived }
        },
        .init("($0.target ?? double) > double") { c in
            let double = c.double
            return #Predicate { ($0.target ?? double) > double }
        },
        .init("$0.target == nil ? flag : $0.streak > number") { c in
            let (flag, number) = (c.flag, c.number)
            return #Predicate { $0.target == nil ? flag : $0.streak > number }
        },
        .init("$0.streak + number > upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { $0.streak + number > upper }
        },
        .init("$0.streak * number - upper < number") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { $0.streak * number - upper < number }
        },
        .init("$0.streak % number == 1") { c in
            let number = c.number
            return #Predicate { $0.streak % number == 1 }
        },
        .init("$0.streak / number == upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { $0.streak / number == upper }
        },
        .init("-$0.streak < number") { c in
            let number = c.number
            return #Predicate { -$0.streak < number }
        },
        .init("$0.isArchived && $0.streak + number > upper") { c in
            let (number, upper) = (c.number, c.upper)
            return #Predicate { $0.isArchived && $0.streak + number > upper }
        },
        .init("$0.createdAt >= date && $0.createdAt <= end") { c in
            let (date, end) = (c.date, c.end)
            return #Predicate { $0.createdAt >= date && $0.createdAt <= end }
        },
        .init("ids.contains($0.id)") { c in
            let ids = c.ids
            return #Predicate { ids.contains($0.id) }
        },
        .init("$0.entries.isEmpty") { _ in #Predicate { $0.entries.isEmpty } },
        .init("$0.entries.contains { $0.note == optional }") { c in
            let optional = c.optionals[0]
            return #Predicate { $0.entries.contains { $0.note == optional } }
        },
        .init("$0.entries.allSatisfy { ($0.value ?? double) <= double }") { c in
            let double = c.double
            return #Predicate { $0.entries.allSatisfy { ($0.value ?? double) <= double } }
        },
        .init("$0.entries.count > number") { c in
            let number = c.number
            return #Predicate { $0.entries.count > number }
        },
        .init("$0.entries.filter { $0.date < date }.count == number") { c in
            let (date, number) = (c.date, c.number)
            return #Predicate { $0.entries.filter { $0.date < date }.count == number }
        },
        .init("$0.tags.contains { $0.name == text }") { c in
            let text = c.text
            return #Predicate { $0.tags.contains { $0.name == text } }
        },
        .init("$0.tags.isEmpty == flag") { c in
            let flag = c.flag
            return #Predicate { $0.tags.isEmpty == flag }
        },
        .init("$0.tags.filter { texts.contains($0.name) }.isEmpty") { c in
            let texts = c.texts
            return #Predicate { $0.tags.filter { texts.contains($0.name) }.isEmpty }
        },
        .init("habit in habit.entries.contains { $0.note == habit.category }") { _ in
            #Predicate { habit in habit.entries.contains { $0.note == habit.category } }
        },
        .init("$0.tags.contains { $0.habits.count > number }") { c in
            let number = c.number
            return #Predicate { $0.tags.contains { $0.habits.count > number } }
        },
        .init("habit in if let unit = habit.unit { unit == text } else { habit.isArchived }") { c in
            let text = c.text
            return #Predicate { habit in if let unit = habit.unit { unit == text } else { habit.isArchived } }
        },
        .init("$0.tagIDs.contains(id)") { c in
            let id = c.ids[0]
            return #Predicate { $0.tagIDs.contains(id) }
        },
    ]
}
