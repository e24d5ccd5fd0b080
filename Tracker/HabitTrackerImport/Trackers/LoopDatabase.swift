import Foundation
import HabitStore
import HabitStoreImport

/// The database of Loop Habit Tracker, with any version of its schema; only the existing columns matter.
///
/// A repetition is a day (midnight UTC, in milliseconds since 1970) and, from version 16 on, a value: 2 for a day checked by hand; 0, 1, 3
/// and -1 for days that were not done, filled in by the app, skipped, or unknown; for measured habits, thousandths of the unit. Files of
/// real users contain what the app's own migration to version 22 deletes (missing habits, nulls, duplicate days): duplicate days become two
/// entries, and dangling repetitions are kept next to the store.
enum LoopDatabase {
    private struct Known {
        let key: String
        let isMeasured: Bool
    }

    private static let textNumbers = "numbers that are kept as texts"
    private static let daySpan: Int64 = 86_400_000
    private static let derived: Set<String> = ["streak", "score", "checkmarks"]
    /// The columns of a habit that the store can hold.
    private static let columns: Set<String> = ["id", "name", "archived", "freq_num", "freq_den", "unit", "uuid"]

    static func recognises(_ database: SourceDatabase) throws -> Bool {
        guard database.has("Habits"), database.has("Repetitions") else { return false }
        let (habits, repetitions) = (try database.columns("Habits"), try database.columns("Repetitions"))
        return habits.isSuperset(of: ["id", "name", "freq_num", "freq_den"])
            && repetitions.isSuperset(of: ["habit", "timestamp"])
    }

    static func read(_ database: SourceDatabase) throws -> TrackerSource {
        var source = TrackerSource(.loop, database)
        var known: [Int: Known] = [:]
        try database.forEachRow("Habits") { row in
            let numbers: Set = ["id", "archived", "freq_num", "freq_den", "type", "target_value"]
            source.note(textNumbers, row.textNumbers(numbers))
            guard let number = row.int("id") else {
                source.keep("Habits: without an id", row.json)
                return
            }
            let isMeasured = row.int("type") == 1
            let habit = habit(number, row, isMeasured, &source)
            known[number] = Known(key: habit.key, isMeasured: isMeasured)
            source.habits.append(habit)
        }
        try database.forEachRow("Repetitions") { row in
            source.note(textNumbers, row.textNumbers(["habit", "timestamp", "value"]))
            try read(row, known, &source)
        }
        let names = source.habits.map(\.name)
        source.note("habits with the name of another one", names.count - Set(names).count)
        try source.keepTables(of: database, except: ["habits", "repetitions"], derived: derived)
        return source
    }

    private static func habit(
        _ number: Int,
        _ row: SourceDatabase.Row,
        _ isMeasured: Bool,
        _ source: inout TrackerSource
    ) -> TrackerHabit {
        // From version 24 on, an identifier that is longer than a UUID and is only used as a key.
        let uuid = row.text("uuid")
        var habit = TrackerHabit(key: uuid ?? "\(number)", name: row.text("name") ?? "")
        habit.id = uuid.flatMap { UUID(uuidString: $0) }
        habit.isArchived = (row.int("archived") ?? 0) != 0
        if let times = row.int("freq_num"), let days = row.int("freq_den"), times > 0, days > 0 {
            (habit.timesPerPeriod, habit.periodDays) = (times, days)
        } else {
            source.note("habits without a frequency that could be read, taken for daily")
        }
        habit.rest = row.rest(without: columns)
        habit.rest["id"] = .int(Int64(number))
        if habit.id == nil, let uuid { habit.rest["uuid"] = .string(uuid) }
        if isMeasured {
            habit.unit = row.text("unit")
            habit.target = row.double("target_value")
            habit.rest["target_value"] = nil
        } else if let unit = row.text("unit") {
            habit.rest["unit"] = .string(unit)
        }
        return habit
    }

    private static func read(
        _ row: SourceDatabase.Row,
        _ known: [Int: Known],
        _ source: inout TrackerSource
    ) throws {
        guard let number = row.int("habit") else { return source.keep("Repetitions: of no habit", row.json) }
        guard let habit = known[number] else {
            return source.keep("Repetitions: of a habit that is not there", row.json)
        }
        guard let milliseconds = row.int("timestamp").map(Int64.init) else {
            return source.keep("Repetitions: without a day", row.json)
        }
        let dayNumber = milliseconds >= 0 ? milliseconds / daySpan : (milliseconds - daySpan + 1) / daySpan
        guard let day = SourceMoment.day(number: Int(dayNumber)) else {
            return source.keep("Repetitions: on a day that no calendar has", row.json)
        }
        var value: Double?
        if row["value"] != nil {
            guard let stored = row.double("value") else { return source.keep("Repetitions: without a value", row.json) }
            if let reason = reason(stored, habit.isMeasured) { return source.keep("Repetitions: \(reason)", row.json) }
            if habit.isMeasured { value = stored / 1_000 }
        }
        let key = source.key(habit.key, day.description)
        if key != day.description { source.note("repetitions of a habit on a day that has one already") }
        var entry = TrackerEntry(key: key, habit: habit.key, moment: .day(day), note: row.text("notes"), value: value)
        if milliseconds != dayNumber * daySpan {
            source.note("repetitions whose time is not a midnight in UTC")
            entry.rest["timestamp"] = .int(milliseconds)
        }
        entry.rest.merge(row.rest(without: ["id", "habit", "timestamp", "value", "notes"])) { old, _ in old }
        source.entries.append(entry)
    }

    /// The reason why a value is not a completion; nil if it is one.
    private static func reason(_ value: Double, _ isMeasured: Bool) -> String? {
        switch value {
        case 3: "skipped"
        case -1: "unknown"
        case _ where isMeasured: value < 0 ? "a negative amount" : nil
        case 2: nil
        case 1: "filled in by the app"
        case 0: "not done"
        default: "of a value that is not known"
        }
    }
}
