import Foundation
import HabitStoreImport

/// The fields common to Table Habit's database and export, whose names are almost the same.
enum TableHabitFields {
    private enum Status: Int {
        case deleted = 2
        case archived = 3
    }

    static func habit(_ fields: [String: ImportJSON], key: String, _ source: inout TrackerSource) -> TrackerHabit {
        var habit = TrackerHabit(key: key, name: fields["name"]?.text ?? "")
        var rest = fields.filter { !$0.value.isEmpty }
        for name in ["name", "id_", "uuid", "freq_type", "freq_custom"] { rest[name] = nil }
        if let number = fields["start_date"]?.integer, let day = SourceMoment.day(number: number) {
            habit.created = .day(day)
            rest["start_date"] = nil
        } else if let seconds = fields["create_t"]?.number {
            habit.created = .instant(Date(timeIntervalSince1970: seconds))
        }
        switch fields["status"]?.integer.flatMap(Status.init) {
        case .archived:
            habit.isArchived = true
            rest["status"] = nil
        case .deleted:
            habit.isArchived = true
            source.note("habits that were deleted in the app, here archived")
        case nil: if fields["status"]?.integer == 1 { rest["status"] = nil }
        }
        if let (times, days, isExact) = frequency(fields) {
            (habit.timesPerPeriod, habit.periodDays) = (times, days)
            if !isExact { source.note("habits by the month, here by 30 days") }
        } else {
            for name in ["freq_type", "freq_custom"] { rest[name] = fields[name] }
            source.note("habits without a frequency that could be read, taken for daily")
        }
        habit.unit = fields["daily_goal_unit"]?.text.flatMap { $0.isEmpty ? nil : $0 }
        rest["daily_goal_unit"] = nil
        // The app's goal is per day, while a target is per period.
        if habit.periodDays == 1, habit.timesPerPeriod == 1, let goal = fields["daily_goal"]?.number, goal.isFinite {
            habit.target = goal
            rest["daily_goal"] = nil
        }
        habit.rest = rest
        return habit
    }

    /// The times and days of a frequency: weekly `[n]`, monthly `[n]`, or `[n, days]`.
    private static func frequency(_ fields: [String: ImportJSON]) -> (Int, Int, isExact: Bool)? {
        let arguments: [Int]
        if let text = fields["freq_custom"]?.text {
            guard let list = try? JSONDecoder().decode([Int].self, from: Data(text.utf8)) else { return nil }
            arguments = list
        } else {
            arguments = fields["freq_custom"]?.elements?.compactMap(\.integer) ?? []
        }
        guard let times = arguments.first, times > 0 else { return nil }
        switch fields["freq_type"]?.integer {
        case 1: return (times, 7, true)
        case 2: return (times, 30, false)
        case 3: return arguments.count > 1 && arguments[1] > 0 ? (times, arguments[1], true) : nil
        default: return nil
        }
    }

    /// Reads a record.
    ///
    /// - Parameters:
    ///   - row: the source's row, kept if it does not become an entry; nil if `fields` is that row.
    ///   - name: returns the key and the identifier of the entry, given the key derived from its day.
    static func record(
        _ fields: [String: ImportJSON],
        keptAs row: [String: ImportJSON]? = nil,
        of habit: String,
        _ table: String,
        _ source: inout TrackerSource,
        name: (String) -> (String, UUID?)
    ) {
        switch fields["record_type"]?.integer {
        case 1: break
        case 2: return source.keep("\(table): skipped", row ?? fields)
        case 0: return source.keep("\(table): unknown", row ?? fields)
        default: return source.keep("\(table): of a type that is not known", row ?? fields)
        }
        guard let day = fields["record_date"]?.integer.flatMap(SourceMoment.day(number:)) else {
            return source.keep("\(table): on a day that no calendar has", row ?? fields)
        }
        let dayKey = source.key(habit, day.description)
        if dayKey != day.description { source.note("records of a habit on a day that has one already") }
        let (key, id) = name(dayKey)
        let value = fields["record_value"]?.number
        var entry = TrackerEntry(key: key, id: id, habit: habit, moment: .day(day))
        entry.note = fields["reason"]?.text.flatMap { $0.isEmpty ? nil : $0 }
        entry.value = value.flatMap { $0.isFinite ? $0 : nil }
        entry.rest = fields.filter { !$0.value.isEmpty }
        let placed = [
            "id_", "uuid", "parent_id", "parent_uuid", "record_type", "record_date", "record_value", "reason",
        ]
        for name in placed where name != "record_value" || value?.isFinite == true { entry.rest[name] = nil }
        // Exports normally have no identifiers; if there are any, they are kept but not used.
        for name in ["id_", "uuid", "parent_id", "parent_uuid"] where id == nil {
            entry.rest[name] = fields[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        if let reason = fields["reason"], reason.text == nil, !reason.isEmpty { entry.rest["reason"] = reason }
        if entry.rest["is_deleted"] == .int(0) { entry.rest["is_deleted"] = nil }
        source.entries.append(entry)
    }
}
