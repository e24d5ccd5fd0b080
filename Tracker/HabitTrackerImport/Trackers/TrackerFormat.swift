import HabitStoreImport

/// The formats of other habit trackers' databases and exports.
public enum TrackerFormat: String, Sendable, CaseIterable, Codable {
    /// The database of Loop Habit Tracker, with any version of its schema.
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
    /// A database, CSV or JSON file whose lists a mapping describes.
    case table

    /// The app's name and the kind of file.
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
