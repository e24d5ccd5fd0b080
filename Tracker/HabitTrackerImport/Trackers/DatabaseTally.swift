import Foundation
import HabitStore
import HabitStoreImport

/// Counts the entries in other apps' databases with SQL alone.
enum DatabaseTally {
    static func count(_ database: SourceDatabase, _ format: TrackerFormat) throws -> [HabitTally] {
        switch format {
        case .tickmate:
            try tally(
                database,
                tickmate(try hasTexts("_track_id", "ticks", database) || hasTexts("_id", "tracks", database))
            )
        case .tableHabit:
            try tally(
                database,
                tableHabit(
                    try database.columns("mh_records"),
                    try hasTexts("parent_id", "mh_records", database) || hasTexts("id_", "mh_habits", database)
                )
            )
        default:
            try tally(
                database,
                loop(
                    try database.columns("Habits"),
                    try database.columns("Repetitions"),
                    try hasTexts("habit", "Repetitions", database) || hasTexts("id", "Habits", database)
                )
            )
        }
    }

    /// Tallies a query with the columns habit, name, day of an entry (null for a habit without entries), value and note.
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

    private static func loop(_ habits: Set<String>, _ repetitions: Set<String>, _ hasTexts: Bool) -> String {
        let isMeasured = habits.contains("type") ? "coalesce(\(number("h.type")), 0) = 1" : "0"
        let hasValue = repetitions.contains("value")
        let (stored, value) = hasValue ? ("r.value", number("r.value")) : ("2", "2")
        let note = repetitions.contains("notes") ? "r.notes" : "NULL"
        let time = number("r.timestamp")
        return """
            SELECT h.rowid, h.name,
                date((\(time) - ((\(time) % 86400000) + 86400000) % 86400000) / 1000, 'unixepoch'),
                CASE WHEN \(isMeasured) THEN \(value) / 1000.0 END, \(note)
            FROM Habits h LEFT JOIN Repetitions r ON \(isSame("r.habit", "h.id", hasTexts)) AND \(isWhole("r.timestamp"))
                AND \(isNumber(stored))
                AND CASE WHEN \(isMeasured) THEN \(value) >= 0 AND \(value) <> 3 ELSE \(value) = 2 END
            WHERE \(isWhole("h.id"))
            """
    }

    private static func tickmate(_ hasTexts: Bool) -> String {
        let day = "printf('%04d-%02d-%02d', \(number("k.year")), \(number("k.month")) + 1, \(number("k.day")))"
        return """
            SELECT t._id, t.name, CASE WHEN k._track_id IS NOT NULL THEN \(day) END, NULL, NULL
            FROM tracks t LEFT JOIN ticks k ON \(isSame("k._track_id", "t._id", hasTexts))
                AND \(isWhole("k.year")) AND \(isWhole("k.month")) AND \(isWhole("k.day"))
                AND date(\(day), '+0 days') = \(day)
            WHERE \(isWhole("t._id"))
            """
    }

    private static func tableHabit(_ columns: Set<String>, _ hasTexts: Bool) -> String {
        let (date, value) = (number("r.record_date"), number("r.record_value"))
        return """
            SELECT h.rowid, h.name, date(\(date) * 86400, 'unixepoch'),
                CASE WHEN \(isNumber("r.record_value")) AND abs(\(value)) < 9e307 THEN \(value) END, r.reason
            FROM mh_habits h LEFT JOIN mh_records r ON \(number("r.record_type")) = 1 AND \(isWhole("r.record_date"))
                \(columns.contains("is_deleted") ? "AND coalesce(\(number("r.is_deleted")), 0) = 0" : "")
                AND (r.parent_uuid = h.uuid
                    OR (\(isSame("r.parent_id", "h.id_", hasTexts))
                        AND NOT EXISTS (SELECT 1 FROM mh_habits o WHERE o.uuid = r.parent_uuid)))
            """
    }

    // MARK: Numbers

    /// Whether a column has texts, which may be numbers.
    private static func hasTexts(_ column: String, _ table: String, _ database: SourceDatabase) throws -> Bool {
        try database.connection.int("SELECT 1 FROM \(table) WHERE typeof(\(column)) = 'text' LIMIT 1") != nil
    }

    /// Other apps' columns may contain any type, whatever was declared; a text may be a number.
    private static func number(_ column: String) -> String { "CAST(\(column) AS NUMERIC)" }

    /// SQLite compares other texts as text, which never equals the result of the cast.
    private static func isNumber(_ column: String) -> String { "\(column) = \(number(column))" }

    private static func isWhole(_ column: String) -> String {
        "\(isNumber(column)) AND \(number(column)) = CAST(\(number(column)) AS INTEGER)"
    }

    /// Whether two columns have the same number. An index only helps if both are numeric.
    private static func isSame(_ left: String, _ right: String, _ hasTexts: Bool) -> String {
        guard hasTexts else { return "\(left) = \(right)" }
        return "\(isNumber(left)) AND \(isNumber(right)) AND \(number(left)) = \(number(right))"
    }
}
