import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import JSONText

/// A private copy of another app's database, with its tables and columns, which differ by version.
final class SourceDatabase {
    /// A row, by lowercase column names.
    typealias Row = [String: SourceValue]

    let path: String
    let connection: SourceConnection
    let oddities: [CoreDataOddity]
    /// The tables that only the app can read.
    let unreadable: [SourceCatalog.Unreadable]
    /// The names of the tables, by their lowercase forms.
    private let tables: [String: String]
    // Owns the copy, which is removed with it.
    private let opening: SourceOpening

    /// Copies the file and its companion files, and opens the copy.
    init(path: String) throws {
        var opening = try SourceOpening(path)
        connection = try opening.open()
        self.opening = opening
        self.path = path
        oddities = opening.oddities
        opening.hide()
        let catalog = try connection.catalog()
        unreadable = catalog.unreadable
        tables = Dictionary(catalog.tables.map { ($0.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
    }

    var tableNames: [String] { tables.values.sorted() }

    /// Whether there is a table; case is ignored.
    func has(_ table: String) -> Bool { tables[table.lowercased()] != nil }

    /// The names of a table's columns, in lowercase.
    func columns(_ table: String) throws -> Set<String> {
        let statement = try connection.prepare("SELECT * FROM \(quoted(table)) LIMIT 0")
        return Set((0..<statement.columnCount).map { statement.columnName($0).lowercased() })
    }

    /// The number of rows in a table.
    func count(_ table: String) throws -> Int {
        Int(try connection.int("SELECT count(*) FROM \(quoted(table))") ?? 0)
    }

    /// Calls `body` with each row of a table, in the order of row identifiers.
    func forEachRow(_ table: String, _ body: (Row) throws -> Void) throws {
        let statement = try ordered(table)
        let names = (0..<statement.columnCount).map { statement.columnName($0).lowercased() }
        while try statement.step() {
            var row: Row = [:]
            for (column, name) in names.enumerated() { row[name] = statement.value(column) }
            try body(row)
        }
    }

    /// A table without row identifiers is read in its own order.
    private func ordered(_ table: String) throws -> SourceStatement {
        do {
            return try connection.prepare("SELECT * FROM \(quoted(table)) ORDER BY rowid")
        } catch let error as HabitStoreError where error.detail?.contains("no such column") == true {
            return try connection.prepare("SELECT * FROM \(quoted(table))")
        }
    }

    private func quoted(_ table: String) -> String {
        SourceConnection.quoted(tables[table.lowercased()] ?? table)
    }
}

extension [String: SourceValue] {
    /// A column as an integer, from integers and from doubles without a fraction.
    func int(_ column: String) -> Int? {
        switch self[column]?.numeric {
        case .int(let number): Int(number)
        case .real(let number): Int(exactly: number)
        default: nil
        }
    }

    /// A column as a double.
    func double(_ column: String) -> Double? {
        switch self[column]?.numeric {
        case .int(let number): Double(number)
        case .real(let number): number
        default: nil
        }
    }

    /// A column as text, with numbers and bytes converted; nil for null and empty values.
    func text(_ column: String) -> String? {
        switch self[column] {
        case .text(let text): text.isEmpty ? nil : text
        case .int(let number): String(number)
        case .real(let number): "\(number)"
        case .blob(let bytes), .malformedText(let bytes): bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
        case .null, nil: nil
        }
    }

    /// The values of the other columns, without nulls.
    func rest(without columns: Set<String>) -> [String: JSON] {
        var result: [String: JSON] = [:]
        for (name, value) in self where !columns.contains(name) && !value.isNull { result[name] = JSON(value) }
        return result
    }

    /// The number of columns with a number stored as text.
    func textNumbers(_ columns: Set<String>) -> Int {
        columns.count { name in self[name].map { $0 != $0.numeric } ?? false }
    }

    /// The row with texts in these columns converted to numbers.
    func numeric(_ columns: Set<String>) -> Self {
        Dictionary(uniqueKeysWithValues: map { ($0, columns.contains($0) ? $1.numeric : $1) })
    }

    var json: [String: JSON] { mapValues { JSON($0) } }
}

extension SourceValue {
    /// The value as SQLite's numeric affinity converts it: a decimal text becomes a number.
    var numeric: SourceValue {
        guard case .text(let text) = self else { return self }
        let digits = text.trimmingCharacters(in: CharacterSet(charactersIn: " \t\n\u{B}\u{C}\r"))
        // Swift would also parse hexadecimal numbers and words.
        guard digits.utf8.contains(where: { $0 >= 0x30 && $0 <= 0x39 }),
            digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 || "+-.eE".utf8.contains($0) })
        else { return self }
        if let number = Int64(digits) { return .int(number) }
        guard let number = Double(digits), number.isFinite else { return self }
        return .real(number)
    }
}

extension TrackerSource {
    /// Creates a source from a database, with the oddities of its files.
    init(_ format: TrackerFormat, _ database: SourceDatabase) {
        self.init(format, path: database.path)
        note(database.oddities)
    }

    /// Keeps all rows of the tables that are not imported, and counts the rows of every table.
    mutating func keepTables(of database: SourceDatabase, except imported: Set<String>, derived: Set<String> = [])
        throws
    {
        for table in database.tableNames {
            counts.append((table, try database.count(table)))
            guard !imported.contains(table.lowercased()) else { continue }
            let what =
                derived.contains(table.lowercased()) ? "\(table): computed by the app" : "\(table): no place here"
            try database.forEachRow(table) { keep(what, $0.json) }
        }
    }
}

/// The database of Tickmate: tracks, and ticks with year, month and day in separate columns; months are counted from 0.
enum TickmateDatabase {
    private static let textNumbers = "numbers that are kept as texts"

    static func recognises(_ database: SourceDatabase) throws -> Bool {
        guard database.has("tracks"), database.has("ticks") else { return false }
        return try database.columns("ticks").isSuperset(of: ["_track_id", "year", "month", "day"])
            && database.columns("tracks").isSuperset(of: ["_id", "name"])
    }

    static func read(_ database: SourceDatabase) throws -> TrackerSource {
        var source = TrackerSource(.tickmate, database)
        var groups = try groups(database)
        try database.forEachRow("tracks") { row in
            source.note(textNumbers, row.textNumbers(["_id", "enabled"]))
            guard let number = row.int("_id") else { return source.keep("tracks: without an id", row.json) }
            var habit = TrackerHabit(key: "\(number)", name: row.text("name") ?? "")
            habit.isArchived = row.int("enabled") == 0
            habit.rest = row.rest(without: ["_id", "name", "enabled"]).filter { !$0.value.isEmpty }
            let names = groups.removeValue(forKey: number) ?? []
            habit.category = names.first
            if names.count > 1 { habit.rest["groups"] = .array(names.map { .string($0) }) }
            source.habits.append(habit)
        }
        source.note("groups of a track that is not there", groups.values.reduce(0) { $0 + $1.count })
        let known = Set(source.habits.map(\.key))
        try database.forEachRow("ticks") { row in
            source.note(textNumbers, row.textNumbers(["_id", "_track_id", "year", "month", "day", "has_time_info"]))
            read(row, known, &source)
        }
        try source.keepTables(of: database, except: ["tracks", "ticks"])
        return source
    }

    /// The names of each track's groups.
    private static func groups(_ database: SourceDatabase) throws -> [Int: [String]] {
        guard database.has("groups"), database.has("track2groups") else { return [:] }
        var names: [Int: String] = [:]
        try database.forEachRow("groups") { row in
            if let number = row.int("_id"), let name = row.text("name") { names[number] = name }
        }
        var groups: [Int: [String]] = [:]
        try database.forEachRow("track2groups") { row in
            if let track = row.int("_track_id"), let name = row.int("_group_id").flatMap({ names[$0] }) {
                groups[track, default: []].append(name)
            }
        }
        return groups
    }

    private static func read(_ row: SourceDatabase.Row, _ known: Set<String>, _ source: inout TrackerSource) {
        guard let track = row.int("_track_id").map(String.init), known.contains(track) else {
            return source.keep("ticks: of a track that is not there", row.json)
        }
        guard let year = row.int("year"), let month = row.int("month"), let number = row.int("day"),
            let day = SourceMoment.day(year: year, month: month + 1, day: number)
        else { return source.keep("ticks: on a day that no calendar has", row.json) }
        let key = row.int("_id").map { "\($0)" } ?? source.key(track, "without id")
        let clock = (row.int("hour") ?? 0, row.int("minute") ?? 0, row.int("second") ?? 0)
        var entry = TrackerEntry(key: key, habit: track, moment: .day(day))
        entry.rest = row.rest(without: ["_id", "_track_id", "year", "month", "day", "has_time_info"])
        if row.int("has_time_info") == 1, (0..<24).contains(clock.0), (0..<60).contains(clock.1),
            (0..<61).contains(clock.2)
        {
            entry.moment = .wallClock(day, second: clock.0 * 3_600 + clock.1 * 60 + clock.2)
            for name in ["hour", "minute", "second"] { entry.rest[name] = nil }
        }
        source.entries.append(entry)
    }
}
