import Foundation
import HabitStore
import HabitStoreImport

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
        let numbers = whole.map { Double($0.element[value]) }
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
