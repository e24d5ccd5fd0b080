import Foundation
import HabitStore
import HabitStoreImport
import JSONText

/// Loop's export: `Habits.csv`, a folder for each habit (`001 name/Checkmarks.csv`), and the same check marks again in a table of all
/// habits. Columns are found by name, since they differ by version; habits are identified by name, since their positions change when they
/// are moved.
enum LoopExport {
    /// The highest number that denotes a kind of day: 3, for a skipped one.
    private static let greatestMark = 3
    private static let placed: Set<String> = [
        "Position", "Name", "FrequencyNumerator", "FrequencyDenominator", "Unit", "Target Value", "Archived?",
        "NumRepetitions", "Interval",
    ]

    /// Excludes the files that the macOS Finder adds to a zip.
    static func isWanted(_ name: String) -> Bool {
        name.lowercased().hasSuffix(".csv")
            && !name.split(separator: "/").contains { $0.hasPrefix(".") || $0 == "__MACOSX" }
    }

    static func recognises(_ files: SourceFiles) throws -> Bool {
        guard let bytes = files.contents["Habits.csv"] else { return false }
        var reader = CSVReader(bytes, path: files.path)
        let header = Set((try reader.next() ?? []).map(\.text))
        return header.isSuperset(of: ["Name"]) && (header.contains("Position") || header.contains("Interval"))
    }

    static func read(_ files: SourceFiles) throws -> TrackerSource {
        var source = TrackerSource(.loopCSV, path: files.path)
        let rows = try table(files, "Habits.csv")
        source.counts.append(("Habits.csv", rows.count))
        var used: Set<String> = ["Habits.csv", "Checkmarks.csv"]
        var unmarked = 0
        for (number, row) in rows.enumerated() {
            let habit = habit(row, &source)
            source.habits.append(habit)
            let position = row["Position"] ?? String(repeating: "0", count: number < 9 ? 2 : 1) + "\(number + 1)"
            if let name = files.contents.keys.sorted().first(where: {
                $0.hasPrefix(position + " ") && $0.hasSuffix("/Checkmarks.csv")
            }) {
                used.insert(name)
                let isMeasured = isMeasured(row, try marks(files, name, column: 1), &source)
                try readMarks(files, name, of: habit.key, isMeasured, &source)
            } else {
                let marks = try marks(files, "Checkmarks.csv", column: number + 1)
                if marks.isEmpty { unmarked += 1 }
                source.note("habits without a file of check marks, read from the table of all", marks.isEmpty ? 0 : 1)
                let isMeasured = isMeasured(row, marks.dropFirst(), &source)
                try readTable(files, column: number + 1, of: habit.key, isMeasured, &source)
            }
        }
        let others = files.contents.keys.sorted().filter { !used.contains($0) }
        for name in others { try keep(files, name, &source) }
        source.lose("marksMissing", "habits without check marks in any file: \(unmarked)", unmarked)
        let strangers = others.count { $0.hasSuffix("/Checkmarks.csv") }
        source.lose("habitMissing", "files of check marks whose habit Habits.csv lacks: \(strangers)", strangers)
        source.loseCutFiles(try files.contents.keys.count { try CSVEnd(files.contents[$0] ?? [], path: $0).isCut })
        return source
    }

    private static func habit(_ row: [String: String], _ source: inout TrackerSource) -> TrackerHabit {
        let name = row["Name"] ?? ""
        var habit = TrackerHabit(key: source.key(habitNamed: name), name: name)
        habit.isArchived = row["Archived?"]?.lowercased() == "true"
        let times = (row["FrequencyNumerator"] ?? row["NumRepetitions"]).flatMap { SourceMoment.number($0) }
        let days = (row["FrequencyDenominator"] ?? row["Interval"]).flatMap { SourceMoment.number($0) }
        if let times, let days, times > 0, days > 0 {
            (habit.timesPerPeriod, habit.periodDays) = (times, days)
        } else {
            source.note("habits without a frequency that could be read, taken for daily")
        }
        habit.unit = row["Unit"].flatMap { $0.isEmpty ? nil : $0 }
        habit.target = row["Target Value"].flatMap(Double.init).flatMap { $0.isFinite ? $0 : nil }
        for (column, text) in row where !placed.contains(column) && !text.isEmpty { habit.rest[column] = .string(text) }
        // Keep what could not be read.
        if times == nil || days == nil || times == 0 || days == 0 {
            for column in ["FrequencyNumerator", "FrequencyDenominator", "NumRepetitions", "Interval"] {
                habit.rest[column] = row[column].flatMap { $0.isEmpty ? nil : .string($0) }
            }
        }
        if habit.target == nil, let text = row["Target Value"], !text.isEmpty {
            habit.rest["Target Value"] = .string(text)
        }
        if let text = row["Archived?"], !["", "true", "false"].contains(text.lowercased()) {
            habit.rest["Archived?"] = .string(text)
        }
        return habit
    }

    /// Whether a habit's marks are amounts. Exports of versions 2.0 to 2.3.0 do not say; there, a mark above those for done, skipped and
    /// other days shows it.
    private static func isMeasured(
        _ row: [String: String],
        _ marks: some Sequence<String>,
        _ source: inout TrackerSource
    ) -> Bool {
        if let type = row["Type"], !type.isEmpty { return type == "NUMERICAL" }
        let isMeasured = marks.contains { Int($0).map { $0 > greatestMark } ?? false }
        if isMeasured { source.note("habits without a type, measured by their values") }
        return isMeasured
    }

    /// The cells of a column, including its header.
    private static func marks(_ files: SourceFiles, _ name: String, column: Int) throws -> [String] {
        var reader = CSVReader(files.contents[name] ?? [], path: files.path + "/" + name)
        var marks: [String] = []
        while let row = try reader.next() { if row.count > column { marks.append(row[column].text) } }
        return marks
    }

    /// Reads `Date,Value,Notes`; older versions have neither the header nor the notes.
    private static func readMarks(
        _ files: SourceFiles,
        _ name: String,
        of habit: String,
        _ isMeasured: Bool,
        _ source: inout TrackerSource
    ) throws {
        var reader = CSVReader(files.contents[name] ?? [], path: files.path + "/" + name)
        var count = 0
        while let row = try reader.next() {
            let texts = row.map(\.text)
            if texts == [""] || (reader.line == 1 && texts.first == "Date") { continue }
            count += 1
            let fields: [String: JSON] = [
                "file": .string(name), "line": .int(Int64(reader.line)), "row": .array(texts.map { .string($0) }),
            ]
            guard texts.count >= 2 else {
                source.keep("check marks: rows that say nothing", fields)
                continue
            }
            add(
                texts[0],
                texts[1],
                note: texts.count > 2 ? texts[2] : "",
                further: Array(texts.dropFirst(3)),
                of: habit,
                isMeasured,
                fields,
                &source
            )
        }
        source.counts.append((name, count))
    }

    /// Reads a column of the table of all habits, which has no notes, but a value for each day of any habit.
    private static func readTable(
        _ files: SourceFiles,
        column: Int,
        of habit: String,
        _ isMeasured: Bool,
        _ source: inout TrackerSource
    ) throws {
        var reader = CSVReader(files.contents["Checkmarks.csv"] ?? [], path: files.path + "/Checkmarks.csv")
        _ = try reader.next()
        while let row = try reader.next() {
            guard row.count > column else { continue }
            let fields: [String: JSON] = ["habit": .string(habit), "row": .array(row.map { .string($0.text) })]
            add(row[0].text, row[column].text, note: "", of: habit, isMeasured, fields, &source)
        }
    }

    private static func add(
        _ date: String,
        _ mark: String,
        note: String,
        further: [String] = [],
        of habit: String,
        _ isMeasured: Bool,
        _ fields: [String: JSON],
        _ source: inout TrackerSource
    ) {
        var fields = fields
        fields["habit"] = .string(habit)
        guard let day = SourceMoment.day(iso: date) else {
            return source.keep("check marks: on a day that no calendar has", fields)
        }
        var value: Double?
        switch mark {
        case "YES_MANUAL": break
        case "2" where !isMeasured: break
        case "YES_AUTO": return source.keep("check marks: filled in by the app", fields)
        case "1" where !isMeasured: return source.keep("check marks: filled in by the app", fields)
        case "NO": return source.keep("check marks: not done", fields)
        case "0" where !isMeasured: return source.keep("check marks: not done", fields)
        // The app uses the same number for skipped days of measured habits.
        case "SKIP", "3": return source.keep("check marks: skipped", fields)
        case "UNKNOWN", "-1": return source.keep("check marks: unknown", fields)
        default:
            guard isMeasured, let number = Int(mark), number >= 0 else {
                return source.keep("check marks: of a value that is not known", fields)
            }
            value = Double(number) / 1_000
        }
        let key = source.key(habit, day.description)
        if key != day.description { source.note("check marks of a habit on a day that has one already") }
        var entry = TrackerEntry(
            key: key,
            habit: habit,
            moment: .day(day),
            note: note.isEmpty ? nil : note,
            value: value
        )
        let further = further.filter { !$0.isEmpty }
        if !further.isEmpty { entry.rest["row"] = .array(further.map { .string($0) }) }
        source.entries.append(entry)
    }

    /// Keeps files that the app computes or that are unknown.
    private static func keep(_ files: SourceFiles, _ name: String, _ source: inout TrackerSource) throws {
        let what = name.hasSuffix("Scores.csv") ? "scores: computed by the app" : "\(name): no place here"
        for row in try table(files, name) {
            source.keep(what, ["file": .string(name), "row": .object(row.mapValues { .string($0) })])
        }
    }

    /// The rows of a file, by column name.
    private static func table(_ files: SourceFiles, _ name: String) throws -> [[String: String]] {
        var reader = CSVReader(files.contents[name] ?? [], path: files.path + "/" + name)
        let header = (try reader.next() ?? []).map(\.text)
        var rows: [[String: String]] = []
        while let row = try reader.next() {
            if row.count == 1, row[0].text.isEmpty { continue }
            var named: [String: String] = [:]
            for (position, field) in row.enumerated() where position < header.count || !field.text.isEmpty {
                named[position < header.count ? header[position] : "column \(position + 1)"] = field.text
            }
            rows.append(named)
        }
        return rows
    }
}

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
