import HabitStore
import HabitStoreImport

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
