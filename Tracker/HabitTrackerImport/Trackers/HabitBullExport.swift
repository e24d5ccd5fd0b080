import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker
import JSONText

/// The CSV export of HabitBull, with one row per habit and day. Habits are identified only by name. Nothing says which of them are
/// measured: those with values other than 0 and 1 are, and other than the least number of 32 bits, which says that a day was neither.
enum HabitBullExport {
    private static let header = [
        "HabitName", "HabitDescription", "HabitCategory", "CalendarDate", "Value", "CommentText",
    ]

    private struct Row {
        let name: String
        let fields: [String: JSON]
        let date: String
        let value: Double?
        let isNeither: Bool
        let note: String
    }

    static func recognises(_ header: [String]) -> Bool {
        Set(header).isSuperset(of: ["HabitName", "CalendarDate", "Value"])
    }

    static func read(_ bytes: [UInt8], path: String) throws -> TrackerSource {
        var source = TrackerSource(.habitbull, path: path)
        var reader = CSVReader(bytes, path: path)
        let header = (try reader.next() ?? []).map(\.text)
        var rows: [Row] = []
        var count = 0
        var end = CSVEnd(header.count)
        while let fields = try reader.next() {
            end.note(fields.count, reader)
            if fields.count == 1, fields[0].text.isEmpty, !fields[0].isQuoted { continue }
            count += 1
            var named: [String: JSON] = [:]
            for (name, field) in zip(header, fields) { named[name] = .string(field.text) }
            for (place, field) in fields.enumerated().dropFirst(header.count) where !field.text.isEmpty {
                named["column \(place + 1)"] = .string(field.text)
            }
            guard fields.count == header.count else {
                named["line"] = .int(Int64(reader.line))
                source.keep("rows: of another length than the header", named)
                continue
            }
            let value = named["Value"]?.text ?? ""
            rows.append(
                Row(
                    name: named["HabitName"]?.text ?? "",
                    fields: named,
                    date: named["CalendarDate"]?.text ?? "",
                    value: Double(value).flatMap { $0.isFinite ? $0 : nil },
                    isNeither: isNeither(value),
                    note: named["CommentText"]?.text ?? ""
                )
            )
        }
        source.counts = [("rows", count)]
        source.loseCutFiles(end.isCut ? 1 : 0)
        add(rows, order: dateOrder(rows.map(\.date)), &source)
        return source
    }

    /// Whether a value is `Int32.min`, however a spreadsheet spells it: `-2147483648`, `-2.15E+09`, `-2,15E+09`.
    private static func isNeither(_ text: String) -> Bool {
        ["", "."].contains { comma in
            let number = Double(text.replacingOccurrences(of: ",", with: comma).trimmingCharacters(in: .whitespaces))
            return number.map { ($0 > -2.2e9 && $0 <= -2.1e9) || $0 == -2e9 } ?? false
        }
    }

    private static func add(_ rows: [Row], order: DateOrder, _ source: inout TrackerSource) {
        let measured = Set(rows.filter { !$0.isNeither && $0.value.map { $0 != 0 && $0 != 1 } ?? false }.map(\.name))
        var seen: Set<String> = []
        var begun: [String: TrackerHabit] = [:]
        for row in rows where seen.insert(row.name).inserted {
            let habit = habit(row)
            begun[row.name] = habit
            source.habits.append(habit)
        }
        var identical: Set<[String: JSON]> = []
        for row in rows {
            if !identical.insert(row.fields).inserted { source.note("rows that are there twice") }
            guard let day = order.day(row.date) else {
                source.keep("rows: on a day that no calendar has", row.fields)
                continue
            }
            guard !row.isNeither else {
                source.keep("rows: neither done nor not done", row.fields)
                continue
            }
            guard let value = row.value else {
                source.keep("rows: of a value that is no number", row.fields)
                continue
            }
            guard measured.contains(row.name) || value == 1 else {
                source.keep("rows: not done", row.fields)
                continue
            }
            if Int32(exactly: value) == nil { source.note("values beyond 32 bits or with a fraction") }
            let key = source.key(row.name, day.description)
            if key != day.description { source.note("rows of a habit on a day that has one already") }
            var entry = TrackerEntry(key: key, habit: row.name, moment: .day(day))
            entry.note = row.note.isEmpty ? nil : row.note
            entry.value = measured.contains(row.name) ? value : nil
            entry.rest = row.fields.filter { !header.contains($0.key) && !$0.value.isEmpty }
            // The habit has these from its first row; other rows may differ.
            let habit = begun[row.name]
            if let category = row.fields["HabitCategory"], !category.isEmpty, category.text != habit?.category {
                entry.rest["HabitCategory"] = category
            }
            if let words = row.fields["HabitDescription"], !words.isEmpty, words != habit?.rest["HabitDescription"] {
                entry.rest["HabitDescription"] = words
            }
            source.entries.append(entry)
        }
        if order == .ambiguous, rows.contains(where: { $0.date.contains("/") }) {
            source.note("dates with an ambiguous day and month, taken as month/day")
        }
    }

    private static func habit(_ row: Row) -> TrackerHabit {
        var habit = TrackerHabit(key: row.name, name: row.name)
        habit.category = row.fields["HabitCategory"]?.text.flatMap { $0.isEmpty ? nil : $0 }
        if let description = row.fields["HabitDescription"], !description.isEmpty {
            habit.rest["HabitDescription"] = description
        }
        return habit
    }

    /// Which number in `11/5/2020` is the month, as determined from the whole file.
    private enum DateOrder {
        case monthFirst
        case dayFirst
        case ambiguous

        func day(_ text: String) -> LocalDay? {
            guard text.contains("/") else { return SourceMoment.day(iso: text) }
            let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { SourceMoment.number($0) }
            guard parts.count == 3, let first = parts[0], let second = parts[1], let year = parts[2] else { return nil }
            return self == .dayFirst
                ? SourceMoment.day(year: year, month: second, day: first)
                : SourceMoment.day(year: year, month: first, day: second)
        }
    }

    private static func dateOrder(_ dates: [String]) -> DateOrder {
        var (first, second) = (0, 0)
        for date in dates {
            let parts = date.split(separator: "/").compactMap { SourceMoment.number($0) }
            guard parts.count == 3 else { continue }
            (first, second) = (max(first, parts[0]), max(second, parts[1]))
        }
        if first > 12 { return second > 12 ? .monthFirst : .dayFirst }
        return second > 12 ? .monthFirst : .ambiguous
    }
}

/// Detects a truncated CSV file: its last row has fewer fields than the one before it and no line break.
struct CSVEnd {
    private var fields: Int
    private(set) var isCut = false

    /// - Parameter fields: the number of fields in the first row.
    init(_ fields: Int) { self.fields = fields }

    init(_ bytes: [UInt8], path: String) throws {
        self.init(0)
        var reader = CSVReader(bytes, path: path)
        while let row = try reader.next() { note(row.count, reader) }
    }

    /// Records the row that a reader has just read.
    mutating func note(_ count: Int, _ reader: CSVReader) {
        isCut = !reader.isLineEnded && count < fields
        fields = count
    }
}
