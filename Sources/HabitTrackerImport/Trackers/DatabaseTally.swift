import Foundation
import HabitStore
import HabitStoreImport

/// Counts the entries of other apps' databases by SQL alone.
enum DatabaseTally {
    static func count(_ database: SourceDatabase, _ format: TrackerFormat) throws -> [HabitTally] {
        switch format {
        case .tickmate: try tally(database, tickmate)
        case .tableHabit: try tally(database, tableHabit(try database.columns("mh_records")))
        default: try tally(database, loop(try database.columns("Habits"), try database.columns("Repetitions")))
        }
    }

    /// Rows of: which habit, its name, the day of an entry (null for a habit without any), value, note.
    private static func tally(_ database: SourceDatabase, _ sql: String) throws -> [HabitTally] {
        let statement = try database.connection.prepare(sql)
        var tallies: [Int64: HabitTally] = [:]
        while try statement.step() {
            let habit = statement.optionalInt(0) ?? -1
            var tally = tallies[habit] ?? HabitTally(name: statement.text(1) ?? "")
            if let day = statement.text(2) {
                tally.add(day: day, value: statement.optionalDouble(3), note: statement.text(4))
            }
            tallies[habit] = tally
        }
        return Array(tallies.values)
    }

    private static func loop(_ habits: Set<String>, _ repetitions: Set<String>) -> String {
        let isMeasured = habits.contains("type") ? "coalesce(h.type, 0) = 1" : "0"
        let hasValue = repetitions.contains("value")
        let value = hasValue ? "r.value" : "2"
        let note = repetitions.contains("notes") ? "r.notes" : "NULL"
        return """
            SELECT h.rowid, h.name,
                date((r.timestamp - ((r.timestamp % 86400000) + 86400000) % 86400000) / 1000, 'unixepoch'),
                CASE WHEN \(isMeasured) THEN \(value) / 1000.0 END, \(note)
            FROM Habits h LEFT JOIN Repetitions r ON r.habit = h.id AND \(isWhole("r.timestamp"))
                AND typeof(\(value)) IN ('integer', 'real')
                AND CASE WHEN \(isMeasured) THEN \(value) >= 0 AND \(value) <> 3 ELSE \(value) = 2 END
            WHERE h.id IS NOT NULL
            """
    }

    private static let tickmate = """
        SELECT t._id, t.name, CASE WHEN k._id IS NOT NULL THEN printf('%04d-%02d-%02d', k.year, k.month + 1, k.day) END,
            NULL, NULL
        FROM tracks t LEFT JOIN ticks k ON k._track_id = t._id
            AND \(isWhole("k.year")) AND \(isWhole("k.month")) AND \(isWhole("k.day"))
            AND date(printf('%04d-%02d-%02d', k.year, k.month + 1, k.day), '+0 days')
                = printf('%04d-%02d-%02d', k.year, k.month + 1, k.day)
        """

    private static func tableHabit(_ columns: Set<String>) -> String {
        """
        SELECT h.rowid, h.name, date(r.record_date * 86400, 'unixepoch'),
            CASE WHEN abs(r.record_value) < 9e307 THEN r.record_value END, r.reason
        FROM mh_habits h LEFT JOIN mh_records r ON r.record_type = 1 AND \(isWhole("r.record_date"))
            \(columns.contains("is_deleted") ? "AND coalesce(r.is_deleted, 0) = 0" : "")
            AND (r.parent_uuid = h.uuid
                OR (r.parent_id = h.id_ AND NOT EXISTS (SELECT 1 FROM mh_habits o WHERE o.uuid = r.parent_uuid)))
        """
    }

    /// Other apps' columns hold what was put into them, whatever is declared.
    private static func isWhole(_ column: String) -> String {
        "typeof(\(column)) IN ('integer', 'real') AND \(column) = CAST(\(column) AS INTEGER)"
    }
}
