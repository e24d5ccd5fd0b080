import Foundation
import HabitStore
import HabitStoreImport

/// The database of Table Habit (mhabit): habits, records and groups, each with a UUID. Days are numbered since 1970.
enum TableHabitDatabase {
    private static let textNumbers = "numbers that are kept as texts"
    private static let habitNumbers: Set<String> = ["id_", "status", "freq_type", "daily_goal", "start_date"]
    private static let recordNumbers: Set<String> = [
        "id_", "parent_id", "record_date", "record_type", "record_value", "is_deleted",
    ]

    static func recognises(_ database: SourceDatabase) throws -> Bool {
        guard database.has("mh_habits"), database.has("mh_records") else { return false }
        return try database.columns("mh_records").isSuperset(of: ["record_date", "record_type", "parent_uuid"])
            && database.columns("mh_habits").contains("uuid")
    }

    static func read(_ database: SourceDatabase) throws -> TrackerSource {
        var source = TrackerSource(.tableHabit, database)
        let groups = try groups(database)
        var keys: [String: String] = [:]
        try database.forEachRow("mh_habits") { row in
            source.note(textNumbers, row.textNumbers(habitNumbers))
            guard let key = row.text("uuid") ?? row.int("id_").map({ "\($0)" }) else {
                return source.keep("mh_habits: without an identifier", row.json)
            }
            var habit = TableHabitFields.habit(row.numeric(habitNumbers).json, key: key, &source)
            habit.id = UUID(uuidString: key)
            if let group = row.text("group_id") ?? row.int("group_id").map({ "\($0)" }) {
                habit.category = groups[group]
                if habit.category == nil { source.note("habits of a group that is not there") }
            }
            source.habits.append(habit)
            keys[key] = key
            if let number = row.int("id_") { keys["#\(number)"] = key }
        }
        try database.forEachRow("mh_records") { row in
            source.note(textNumbers, row.textNumbers(recordNumbers))
            read(row, keys, &source)
        }
        try source.keepTables(of: database, except: ["mh_habits", "mh_records"])
        return source
    }

    private static func groups(_ database: SourceDatabase) throws -> [String: String] {
        guard database.has("mh_groups") else { return [:] }
        var names: [String: String] = [:]
        try database.forEachRow("mh_groups") { row in
            guard let name = row.text("name") else { return }
            if let key = row.text("uuid") { names[key] = name }
            if let number = row.int("id_") { names["\(number)"] = name }
        }
        return names
    }

    private static func read(_ row: SourceDatabase.Row, _ keys: [String: String], _ source: inout TrackerSource) {
        let byName = row.text("parent_uuid").flatMap { keys[$0] }
        let byNumber = row.int("parent_id").flatMap { keys["#\($0)"] }
        if let byName, let byNumber, byName != byNumber {
            source.note("records whose two links lead to different habits")
        }
        guard let habit = byName ?? byNumber else {
            return source.keep("mh_records: of a habit that is not there", row.json)
        }
        guard (row.int("is_deleted") ?? 0) == 0 else { return source.keep("mh_records: deleted", row.json) }
        let fields = row.numeric(recordNumbers).json
        TableHabitFields.record(fields, keptAs: row.json, of: habit, "mh_records", &source) { key in
            guard let uuid = row.text("uuid") else { return (key, nil) }
            return (uuid, UUID(uuidString: uuid))
        }
    }
}
