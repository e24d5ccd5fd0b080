import Foundation
import HabitStore
import HabitStoreImport

/// Totals of a habit's entries: enough to detect missing, duplicated, moved or changed ones.
struct HabitTally: CustomStringConvertible {
    let name: String
    private(set) var entries = 0
    private(set) var sum = 0.0
    private(set) var first: String?
    private(set) var last: String?
    /// The size of all notes in bytes of UTF-8, in NFC.
    private(set) var noteBytes = 0

    private static let tolerance = 1e-9

    init(name: String) { self.name = name.precomposedStringWithCanonicalMapping }

    mutating func add(day: String, value: Double?, note: String?, count: Int = 1) {
        entries += count
        sum += value ?? 0
        noteBytes += note?.precomposedStringWithCanonicalMapping.utf8.count ?? 0
        if first.map({ day < $0 }) ?? true { first = day }
        if last.map({ day > $0 }) ?? true { last = day }
    }

    /// Omits the name, which is the user's data.
    var description: String {
        "\(entries) entries, the sum \(sum), from \(first ?? "never") to \(last ?? "never"), \(noteBytes) bytes of notes"
    }

    /// The sort order, which distinguishes habits with the same name by their totals.
    var order: [String] { [name, pad(entries), first ?? "", last ?? "", pad(noteBytes), "\(sum)"] }

    func isEqual(to other: HabitTally) -> Bool {
        let scale = max(1, abs(sum), abs(other.sum))
        return name == other.name && entries == other.entries && first == other.first && last == other.last
            && noteBytes == other.noteBytes && abs(sum - other.sum) <= Self.tolerance * scale
    }

    private func pad(_ number: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, 20 - text.count)) + text
    }
}

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

/// Counts the entries in text files line by line, without the import's readers.
enum TextTally {
    // MARK: Loop's export

    static func loop(_ files: SourceFiles) throws -> [HabitTally] {
        let habits = rows(files, "Habits.csv")
        let header = habits.first ?? []
        func column(_ row: [String], _ name: String) -> String {
            header.firstIndex(of: name).flatMap { $0 < row.count ? row[$0] : nil } ?? ""
        }
        return habits.dropFirst().filter { $0 != [""] }.enumerated().map { number, row in
            var tally = HabitTally(name: column(row, "Name"))
            let position = column(row, "Position")
            let prefix = (position.isEmpty ? String(format: "%03d", number + 1) : position) + " "
            let type = column(row, "Type")
            if let name = files.contents.keys.sorted().first(where: {
                $0.hasPrefix(prefix) && $0.hasSuffix("/Checkmarks.csv")
            }) {
                let marks = rows(files, name).filter { $0.count > 1 }
                let isMeasured = isMeasured(type, marks.map { $0[1] })
                for mark in marks { add(mark[0], mark[1], mark.count > 2 ? mark[2] : nil, isMeasured, &tally) }
            } else {
                let days = rows(files, "Checkmarks.csv").filter { $0.count > number + 1 }
                let isMeasured = isMeasured(type, days.map { $0[number + 1] })
                for marks in days {
                    add(marks[0], marks[number + 1], nil, isMeasured, &tally)
                }
            }
            return tally
        }
    }

    private static func add(
        _ date: String,
        _ mark: String,
        _ note: String?,
        _ isMeasured: Bool,
        _ tally: inout HabitTally
    ) {
        guard let mark = loopMark(tally.name, date, mark, note, isMeasured) else { return }
        tally.add(day: mark.day, value: mark.value, note: mark.note)
    }

    /// Whether marks are amounts: marks for kinds of days are at most 3, whatever the habit's type says.
    static func isMeasured(_ type: String, _ marks: [String]) -> Bool {
        type == "NUMERICAL" || marks.contains { Double($0) ?? 0 > 3 }
    }

    /// The marks of days on which nothing was done, or that the app filled in.
    static let idleMarks: Set<String> = ["", "NO", "SKIP", "UNKNOWN", "YES_AUTO", "-1", "0", "1", "3"]

    /// The entry for a check mark; nil for a day on which nothing was done.
    static func loopMark(
        _ habit: String,
        _ date: String,
        _ mark: String,
        _ note: String?,
        _ isMeasured: Bool
    ) -> LeafAccount.Mark? {
        guard let day = PlainDay.iso(date) else { return nil }
        if mark == "YES_MANUAL" || (mark == "2" && !isMeasured) { return .init(habit, day, nil, note) }
        guard isMeasured, let value = Double(mark), value >= 0, value != 3 else { return nil }
        return .init(habit, day, value / 1_000, note)
    }

    private static func rows(_ files: SourceFiles, _ name: String) -> [[String]] {
        rows(String(decoding: files.contents[name] ?? [], as: UTF8.self))
    }

    // MARK: HabitBull

    static func habitBull(_ text: String) -> [HabitTally] {
        let all = rows(text)
        guard let name = all.first?.firstIndex(of: "HabitName") else { return [] }
        var tallies: [String: HabitTally] = [:]
        for row in all.dropFirst() where row.count == all[0].count && row != [""] {
            tallies[row[name]] = tallies[row[name]] ?? HabitTally(name: row[name])
        }
        for mark in habitBullMarks(all).values {
            tallies[mark.habit]?.add(day: mark.day, value: mark.value, note: mark.note)
        }
        return Array(tallies.values)
    }

    /// Whether a value stands for a day without an answer: the least integer of 32 bits, whole or rounded.
    static func isUnanswered(_ value: String) -> Bool {
        let rounded = "2([.,](1[0-9]*|0+))?[eE][+]?0*9"
        let whole = "2[.,]?(1[0-9]{2}[.,]?[0-9]{3}[.,]?[0-9]{3}|000[.,]?000[.,]?000)([.,]0+)?"
        return value.range(of: "^\\s*-(\(rounded)|\(whole))\\s*$", options: .regularExpression) != nil
    }

    /// The entries, by the positions of their rows.
    static func habitBullMarks(_ all: [[String]]) -> [Int: LeafAccount.Mark] {
        let header = all.first ?? []
        guard let name = header.firstIndex(of: "HabitName"), let date = header.firstIndex(of: "CalendarDate"),
            let value = header.firstIndex(of: "Value")
        else { return [:] }
        let note = header.firstIndex(of: "CommentText")
        let whole = all.enumerated().dropFirst().filter { $0.element.count == header.count && $0.element != [""] }
        let isDayFirst =
            whole.contains { _, row in
                Int(row[date].split(separator: "/").first ?? "") ?? 0 > 12 && row[date].contains("/")
            }
            && !whole.contains { _, row in
                let parts = row[date].split(separator: "/")
                return parts.count == 3 && Int(parts[1]) ?? 0 > 12
            }
        let numbers = whole.map { isUnanswered($0.element[value]) ? nil : Double($0.element[value]) }
        let measured = Set(
            zip(whole, numbers).filter { $0.1 != nil && $0.1 != 0 && $0.1 != 1 }.map { $0.0.element[name] }
        )
        var marks: [Int: LeafAccount.Mark] = [:]
        for ((place, row), number) in zip(whole, numbers) {
            let isMeasured = measured.contains(row[name])
            guard let number, isMeasured || number == 1, let day = day(row[date], isDayFirst) else { continue }
            marks[place] = .init(row[name], day, isMeasured ? number : nil, note.map { row[$0] })
        }
        return marks
    }

    private static func day(_ text: String, _ isDayFirst: Bool) -> String? {
        guard text.contains("/") else { return PlainDay.iso(text) }
        let numbers = text.split(separator: "/").compactMap { Int($0) }
        guard numbers.count == 3 else { return nil }
        return isDayFirst
            ? PlainDay.text(numbers[2], numbers[1], numbers[0]) : PlainDay.text(numbers[2], numbers[0], numbers[1])
    }

    // MARK: harsh

    static func harsh(_ habits: String, _ log: String) throws -> [HabitTally] {
        var tallies: [String: HabitTally] = [:]
        var doubled: [HabitTally] = []
        let habitLine = try Regex("^([^#!][^\\n]*?): +[0-9]+ *(?:/ *[0-9]+ *)?(?:: .*)?$").anchorsMatchLineEndings()
        for match in habits.matches(of: habitLine) {
            let name = text(match, 1)
            guard !name.isEmpty else { continue }
            if tallies[name] == nil {
                tallies[name] = HabitTally(name: name)
            } else {
                doubled.append(HabitTally(name: name))
            }
        }
        let logLine = try Regex("^(\\d{4}-\\d{2}-\\d{2}) : (.+?) : y[ \\t]*?(?: : (.*))?$").anchorsMatchLineEndings()
        for match in try harshLines(log).matches(of: logLine) {
            guard let day = PlainDay.iso(text(match, 1)) else { continue }
            let name = text(match, 2)
            let rest = text(match, 3, trims: false).components(separatedBy: " : ")
            let amount = rest.count > 1 ? Double(rest[1].trimmingCharacters(in: .whitespaces)) : nil
            tallies[name, default: HabitTally(name: name)].add(
                day: day,
                value: amount,
                note: rest[0].trimmingCharacters(in: .whitespaces)
            )
        }
        return Array(tallies.values) + doubled
    }

    /// A harsh log with spaces restored around empty fields, where an editor removed them.
    static func harshLines(_ log: String) throws -> String {
        log.replacing(try Regex(" :(?= :(?: |$))").anchorsMatchLineEndings(), with: " : ")
            .replacing(try Regex(" :[ \\t]*$").anchorsMatchLineEndings(), with: " : ")
    }

    private static func text(_ match: Regex<AnyRegexOutput>.Match, _ group: Int, trims: Bool = true) -> String {
        let text = String(match.output[group].substring ?? "")
        return trims ? text.trimmingCharacters(in: .whitespaces) : text
    }

    // MARK: Rows

    /// Parses CSV rows, character by character.
    static func rows(_ text: String) -> [[String]] {
        var rows: [[String]] = []
        var row: [String] = []
        var field = ""
        var isQuoted = false
        var rest = text.unicodeScalars[...]
        if rest.first == "\u{FEFF}" { rest.removeFirst() }
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\"" where isQuoted && rest.first == "\"":
                field.append("\"")
                rest.removeFirst()
            case "\"": isQuoted.toggle()
            case "," where !isQuoted:
                row.append(field)
                field = ""
            case "\n" where !isQuoted:
                rows.append(row + [field.hasSuffix("\r") ? String(field.unicodeScalars.dropLast()) : field])
                (row, field) = ([], "")
            default: field.unicodeScalars.append(scalar)
            }
        }
        if !row.isEmpty || !field.isEmpty { rows.append(row + [field]) }
        return rows
    }
}

/// Counts the entries in JSON files with Foundation's `JSONSerialization`, which the import does not use.
enum JSONTally {
    static func count(_ path: String, _ format: TrackerFormat) throws -> [HabitTally] {
        let bytes = Data(try WholeFile.read(path).bytes)
        let object = try JSONSerialization.jsonObject(with: bytes)
        var outer = object as? [String: Any] ?? ["habits": object]
        if format == .beaverhabits, let data = outer["data"] as? [String: Any] { outer = data }
        let habits = (outer["habits"] as? [Any] ?? []).compactMap { $0 as? [String: Any] }
        return habits.map { habit in
            var tally = HabitTally(name: habit["name"] as? String ?? "")
            for case let record as [String: Any] in habit["records"] as? [Any] ?? [] {
                format == .beaverhabits ? addBeaver(record, &tally) : addTableHabit(record, &tally)
            }
            return tally
        }
    }

    private static func addBeaver(_ record: [String: Any], _ tally: inout HabitTally) {
        guard record["done"] as? Bool == true, let text = record["day"] as? String, let day = PlainDay.iso(text) else {
            return
        }
        tally.add(day: day, value: nil, note: record["text"] as? String)
    }

    private static func addTableHabit(_ record: [String: Any], _ tally: inout HabitTally) {
        guard record["record_type"] as? Int == 1, let number = record["record_date"] as? Int else { return }
        tally.add(
            day: PlainDay.text(daysSince1970: number),
            value: record["record_value"] as? Double,
            note: record["reason"] as? String
        )
    }
}

/// Days computed by Foundation's calendar, to check days computed otherwise.
enum PlainDay {
    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    /// The text itself, if it is a valid date.
    static func iso(_ text: String) -> String? {
        let numbers = text.split(separator: "-").compactMap { Int($0) }
        guard numbers.count == 3, text.count == 10 else { return nil }
        return self.text(numbers[0], numbers[1], numbers[2])
    }

    static func text(daysSince1970 days: Int) -> String {
        let parts = calendar.dateComponents(
            [.year, .month, .day],
            from: Date(timeIntervalSince1970: Double(days) * 86_400)
        )
        return padded(parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
    }

    static func text(_ year: Int, _ month: Int, _ day: Int) -> String? {
        let parts = DateComponents(calendar: calendar, year: year, month: month, day: day)
        return parts.isValidDate ? padded(year, month, day) : nil
    }

    private static func padded(_ year: Int, _ month: Int, _ day: Int) -> String {
        String(format: "%04d-%02d-%02d", year, month, day)
    }
}
