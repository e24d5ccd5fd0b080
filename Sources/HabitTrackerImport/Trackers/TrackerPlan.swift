import Foundation
import HabitStore
import HabitStoreImport
import HabitTracking

/// What a source comes to in a store: records with identifiers that are the same whenever the source is read.
struct TrackerPlan {
    var habits: [Habit] = []
    var entries: [Entry] = []
    var tags: [Tag] = []
    /// Entries whose source says a day and no time, by identifier: their instant depends on the time zone.
    private(set) var days: [UUID: LocalDay] = [:]
    /// What is kept beside the store.
    private(set) var attachment: [AttachmentLine] = []
    /// Habits whose identifier follows from a number that another phone may have given to another habit.
    private(set) var numbered: Set<UUID> = []
    /// What is odd, found here.
    private(set) var oddities: [String: Int] = [:]

    private let root: [String]

    /// - Parameters:
    ///   - name: tells sources of one kind apart, as two people's phones.
    ///   - now: when habits count as begun of which nothing says when.
    init(_ source: TrackerSource, name: String, timeZone: TimeZone, now: Date) {
        root = ["tracker", source.format.rawValue, name]
        var ids: [String: UUID] = [:]
        var taken: Set<UUID> = []
        for habit in source.habits {
            var id = habit.id ?? DerivedID.make(root + ["habit", habit.key])
            if !taken.insert(id).inserted {
                // Two habits of one identifier are two habits.
                oddities["habits with the identifier of another one", default: 0] += 1
                id = DerivedID.make(root + ["habit", habit.key, "\(taken.count)"])
                taken.insert(id)
            } else {
                ids[habit.key] = id
            }
            if habit.id == nil, Int(habit.key.split(separator: "\u{1F}").last ?? "") != nil { numbered.insert(id) }
            habits.append(made(habit, id, timeZone))
        }
        var first: [UUID: Date] = [:]
        for entry in source.entries {
            guard let habit = ids[entry.habit] else { continue }
            add(entry, of: habit, timeZone, &taken, &first)
        }
        for index in habits.indices where habits[index].createdAt == .distantPast {
            habits[index].createdAt = first[habits[index].id] ?? now
        }
        for row in source.rows { attachment.append(AttachmentLine(kind: .row, what: row.what, fields: row.fields)) }
    }

    private mutating func made(_ habit: TrackerHabit, _ id: UUID, _ timeZone: TimeZone) -> Habit {
        if !habit.rest.isEmpty {
            attachment.append(AttachmentLine(kind: .habit, id: id, what: habit.name, fields: habit.rest))
        }
        let tagIDs = habit.tags.map { name -> UUID in
            let id = DerivedID.make(root + ["tag", name])
            if !tags.contains(where: { $0.id == id }) { tags.append(Tag(id: id, name: name)) }
            return id
        }
        return Habit(
            id: id,
            name: habit.name,
            createdAt: habit.created?.date(in: timeZone) ?? .distantPast,
            category: habit.category,
            isArchived: habit.isArchived,
            timesPerPeriod: habit.timesPerPeriod,
            periodDays: habit.periodDays,
            unit: habit.unit,
            target: habit.target,
            tagIDs: Set(tagIDs)
        )
    }

    private mutating func add(
        _ entry: TrackerEntry,
        of habit: UUID,
        _ timeZone: TimeZone,
        _ taken: inout Set<UUID>,
        _ first: inout [UUID: Date]
    ) {
        var id = entry.id ?? DerivedID.make(root + ["entry", entry.habit, entry.key])
        if !taken.insert(id).inserted {
            oddities["entries with the identifier of another one", default: 0] += 1
            id = DerivedID.make(root + ["entry", entry.habit, entry.key, "\(taken.count)"])
            taken.insert(id)
        }
        if !entry.rest.isEmpty {
            attachment.append(AttachmentLine(kind: .entry, id: id, what: "entry", fields: entry.rest))
        }
        let date = entry.moment.date(in: timeZone)
        if case .day(let day) = entry.moment {
            days[id] = day
            if day.isSkipped(in: timeZone) { oddities["days that the time zone skipped", default: 0] += 1 }
        }
        if first[habit].map({ date < $0 }) ?? true { first[habit] = date }
        entries.append(Entry(id: id, date: date, note: entry.note, value: entry.value, habitID: habit))
    }
}
