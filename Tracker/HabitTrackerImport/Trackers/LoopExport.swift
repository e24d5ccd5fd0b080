import Foundation
import HabitStore
import HabitStoreImport

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
            let fields: [String: ImportJSON] = [
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
            let fields: [String: ImportJSON] = ["habit": .string(habit), "row": .array(row.map { .string($0.text) })]
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
        _ fields: [String: ImportJSON],
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
