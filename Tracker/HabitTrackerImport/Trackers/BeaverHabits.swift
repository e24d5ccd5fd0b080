import Foundation
import HabitStore
import HabitStoreImport

/// A user's file of Beaver Habit Tracker: `habits`, at the top or within `data`, each with its `records`. It also lists days on which
/// nothing was done.
enum BeaverHabits {
    static func recognises(_ json: ImportJSON) -> Bool {
        guard let habits = habits(json), let first = habits.first?.members else { return false }
        guard first["name"] != nil, let records = first["records"]?.elements else { return false }
        return records.first?.members.map { $0["day"] != nil } ?? true
    }

    private static func habits(_ json: ImportJSON) -> [ImportJSON]? {
        (json.members?["data"]?.members ?? json.members)?["habits"]?.elements
    }

    static func read(_ json: ImportJSON, path: String) throws -> TrackerSource {
        var source = TrackerSource(.beaverhabits, path: path)
        let habits = habits(json) ?? []
        var recordCount = 0
        for element in habits {
            guard let fields = element.members else {
                source.keep("habits: not an object", ["value": element])
                continue
            }
            let records = fields["records"]?.elements ?? []
            recordCount += records.count
            let habit = habit(fields, &source)
            source.habits.append(habit)
            for record in records { read(record, of: habit.key, &source) }
        }
        source.counts = [("habits", habits.count), ("records", recordCount)]
        // Names may occur both within `data` and next to it.
        let (outer, inner) = (json.members ?? [:], json.members?["data"]?.members)
        let beside =
            inner == nil ? [] : outer.filter { $0.key != "data" && $0.key != "habits" }.sorted { $0.key < $1.key }
        for (name, value) in beside + (inner ?? outer).filter({ $0.key != "habits" }).sorted(by: { $0.key < $1.key })
        where !value.isEmpty {
            source.keep("\(name): no place here", [name: value])
        }
        return source
    }

    private static func habit(_ fields: [String: ImportJSON], _ source: inout TrackerSource) -> TrackerHabit {
        let name = fields["name"]?.text ?? ""
        let key = fields["id"]?.text.map { "id \($0)" } ?? source.key(habitNamed: name)
        var habit = TrackerHabit(key: key, name: name)
        var rest = fields.filter { !$0.value.isEmpty }
        if fields["name"]?.text != nil { rest["name"] = nil }
        if fields["records"]?.elements != nil { rest["records"] = nil }
        habit.tags = fields["tags"]?.elements?.compactMap(\.text) ?? []
        if habit.tags.count == (fields["tags"]?.elements?.count ?? 0) { rest["tags"] = nil }
        if let status = fields["status"]?.text, status.hasPrefix("archive") {
            habit.isArchived = true
            rest["status"] = nil
        } else if fields["status"]?.text == "soft_delete" {
            habit.isArchived = true
            source.note("habits that were deleted in the app, here archived")
        }
        if let goal = fields["weekly_goal"]?.integer, goal > 0 {
            (habit.timesPerPeriod, habit.periodDays) = (goal, 7)
            rest["weekly_goal"] = nil
        } else if let period = fields["period"]?.members, let times = period["target_count"]?.integer, times > 0,
            let count = period["period_count"]?.integer, count > 0, count <= 10_000,
            let days = ["D": 1, "W": 7, "M": 30, "Y": 365][period["period_type"]?.text ?? ""]
        {
            (habit.timesPerPeriod, habit.periodDays) = (times, count * days)
            if days >= 30 {
                source.note("habits by the month or year, here by 30 or 365 days")
            } else if Set(period.keys).isSubset(of: ["target_count", "period_count", "period_type"]) {
                rest["period"] = nil
            }
        }
        habit.rest = rest
        return habit
    }

    private static func read(_ record: ImportJSON, of habit: String, _ source: inout TrackerSource) {
        guard let fields = record.members else { return source.keep("records: not an object", ["value": record]) }
        var kept = fields
        kept["habit"] = .string(habit)
        guard let day = fields["day"]?.text.flatMap(SourceMoment.day(iso:)) else {
            return source.keep("records: on a day that no calendar has", kept)
        }
        let number = fields["done"]?.integer
        guard let isDone = fields["done"]?.flag ?? (number == 1 ? true : number == 0 ? false : nil) else {
            return source.keep("records: neither done nor not", kept)
        }
        guard isDone else { return source.keep("records: not done", kept) }
        let key = source.key(habit, day.description)
        if key != day.description { source.note("records of a habit on a day that has one already") }
        var entry = TrackerEntry(key: key, habit: habit, moment: .day(day))
        entry.note = fields["text"]?.text.flatMap { $0.isEmpty ? nil : $0 }
        entry.rest = fields.filter { !["day", "done"].contains($0.key) && !$0.value.isEmpty }
        if fields["text"]?.text != nil { entry.rest["text"] = nil }
        source.entries.append(entry)
    }
}
