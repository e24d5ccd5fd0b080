import Foundation
import HabitStore
import HabitStoreOperator
import HabitTracker

extension ReadTransaction {
    func summary(_ habit: Habit, _ tracker: Tracker) throws -> HabitSummary {
        HabitSummary(habit, tags: habit.tags, entryDates: try entries(of: habit.id).map(\.date), tracker)
    }

    /// The summaries of habits; all entries are read once.
    func summaries(_ habits: [Habit], _ tracker: Tracker) throws -> [HabitSummary] {
        let wanted = Set(habits.map(\.id))
        var dates: [UUID: [Date]] = [:]
        try enumerate(FetchDescriptor<Entry>()) { entry in
            if let habit = entry.habitID, wanted.contains(habit) { dates[habit, default: []].append(entry.date) }
            return true
        }
        return habits.map { HabitSummary($0, tags: $0.tags, entryDates: dates[$0.id] ?? [], tracker) }
    }

    /// The tag with exactly this name; nil if there is none.
    func tag(exactly name: String) throws -> Tag? { try models(Tag.self, named: name).first }
}

extension WriteTransaction {
    /// The identifiers of the tags with these names; missing tags are created.
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
