import Foundation
import HabitStore
import HabitTracker

/// A query as an app would send it to a store.
enum PlanRequest {
    case entries(FetchDescriptor<Entry>)
    case habits(FetchDescriptor<Habit>)
    case count(FetchDescriptor<Entry>)
    case identifiers(FetchDescriptor<Entry>)
    case values(FetchDescriptor<Entry>)
    case dates(FetchDescriptor<Entry>)

    init(_ question: PlanQuestion) {
        switch question.plan {
        case .equality, .membership, .joinName, .joinArchived, .contains, .arithmetic, .regex:
            self = .entries(FetchDescriptor(predicate: Self.entries(question)))
        case .range: self = .entries(FetchDescriptor(predicate: Self.range(question)))
        case .rangeLimit:
            self = .entries(
                FetchDescriptor(
                    predicate: Self.range(question),
                    sortBy: [SortDescriptor(\.date)],
                    fetchLimit: question.limit
                )
            )
        case .newest:
            let order = [SortDescriptor(\Entry.date, order: .reverse)]
            self = .entries(FetchDescriptor(sortBy: order, fetchLimit: question.limit))
        case .top:
            let order = [SortDescriptor(\Entry.value, order: .reverse)]
            self = .entries(FetchDescriptor(sortBy: order, fetchLimit: question.limit))
        case .prefix, .anyEntry, .anyTag: self = .habits(FetchDescriptor(predicate: Self.habits(question)))
        case .count, .countResidual: self = .count(FetchDescriptor(predicate: Self.entries(question)))
        case .values:
            self = .values(FetchDescriptor(predicate: Self.entries(question), sortBy: [SortDescriptor(\.date)]))
        case .dates:
            self = .dates(FetchDescriptor(predicate: Self.entries(question), sortBy: [SortDescriptor(\.date)]))
        case .identifiers:
            self = .identifiers(FetchDescriptor(predicate: Self.range(question), sortBy: [SortDescriptor(\.date)]))
        }
    }

    private static func range(_ question: PlanQuestion) -> Predicate<Entry> {
        let (habit, from, to) = (question.habit, question.from, question.to)
        return #Predicate { $0.habitID == habit && $0.date >= from && $0.date < to }
    }

    private static func habits(_ question: PlanQuestion) -> Predicate<Habit> {
        let (text, number) = (question.text, question.number)
        switch question.plan {
        case .prefix: return #Predicate { $0.name.starts(with: text) }
        case .anyEntry: return #Predicate { $0.entries.contains { ($0.value ?? 0) > number } }
        default: return #Predicate { $0.tags.contains { $0.name == text } }
        }
    }

    private static func entries(_ question: PlanQuestion) -> Predicate<Entry> {
        let (habit, text, number) = (question.habit, question.text, question.number)
        switch question.plan {
        case .membership:
            let habits: [UUID?] = question.habits
            return #Predicate { habits.contains($0.habitID) }
        case .joinName: return #Predicate { $0.habit?.name == text }
        case .joinArchived: return #Predicate { $0.habit?.isArchived == true }
        case .countResidual: return #Predicate { $0.habitID == habit && ($0.value ?? 0) > number }
        case .contains: return #Predicate { $0.note?.contains(text) == true }
        case .arithmetic: return #Predicate { ($0.value ?? 0) * 2 + 1 > number }
        case .regex: return #Predicate { $0.note?.contains(/rain [0-9]+$/) == true }
        default: return #Predicate { $0.habitID == habit }
        }
    }
}
