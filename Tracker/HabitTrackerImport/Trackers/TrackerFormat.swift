import HabitStoreImport

/// The forms in which other habit trackers keep or export what they know.
public enum TrackerFormat: String, Sendable, CaseIterable, Codable {
    /// The database of Loop Habit Tracker, of any version of its schema.
    case loop
    /// Loop's export: a folder or a zip of CSV files.
    case loopCSV = "loop-csv"
    /// The database of Tickmate.
    case tickmate
    /// The CSV export of HabitBull.
    case habitbull
    /// A user's JSON file of Beaver Habit Tracker.
    case beaverhabits
    /// The two text files of harsh, `habits` and `log`.
    case harsh
    /// The database of Table Habit.
    case tableHabit = "table-habit"
    /// The JSON export of Table Habit.
    case tableHabitJSON = "table-habit-json"
    /// Lists that a mapping says what they are: a database, CSV or JSON file.
    case table

    /// The app's name.
    public var title: String {
        switch self {
        case .loop: "Loop Habit Tracker, database"
        case .loopCSV: "Loop Habit Tracker, CSV export"
        case .tickmate: "Tickmate, database"
        case .habitbull: "HabitBull, CSV export"
        case .beaverhabits: "Beaver Habit Tracker, JSON"
        case .harsh: "harsh, text files"
        case .tableHabit: "Table Habit, database"
        case .tableHabitJSON: "Table Habit, JSON export"
        case .table: "lists, by a mapping"
        }
    }
}
