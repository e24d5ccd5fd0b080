import Foundation
import HabitStore
import HabitStoreOperator
import HabitTracker

extension ReadTransaction {
    /// A habit with what its entries come to.
    func summary(_ habit: Habit, _ tracker: Tracker) throws -> HabitSummary {
        HabitSummary(habit, tags: habit.tags, entryDates: try entries(of: habit.id).map(\.date), tracker)
    }

    /// Habits with what their entries come to; all entries are read once.
    func summaries(_ habits: [Habit], _ tracker: Tracker) throws -> [HabitSummary] {
        let wanted = Set(habits.map(\.id))
        var dates: [UUID: [Date]] = [:]
        try enumerate(FetchDescriptor<Entry>()) { entry in
            if let habit = entry.habitID, wanted.contains(habit) { dates[habit, default: []].append(entry.date) }
            return true
        }
        return habits.map { HabitSummary($0, tags: $0.tags, entryDates: dates[$0.id] ?? [], tracker) }
    }

    /// The tags of these names; those that are missing are nil.
    func tag(exactly name: String) throws -> Tag? { try models(Tag.self, named: name).first }
}

extension WriteTransaction {
    /// The identifiers of the tags of these names; tags that do not exist yet are made.
    func tagIDs(named names: [String]) throws -> Set<UUID> {
        var ids: Set<UUID> = []
        for name in names {
            guard !name.isEmpty else { throw CommandFailure.usage("a tag needs a name") }
            if let tag = try tag(exactly: name) {
                ids.insert(tag.id)
            } else {
                let tag = Tag(name: name)
                try insert(tag)
                ids.insert(tag.id)
            }
        }
        return ids
    }
}
