import Foundation
import HabitStore

/// Counts the entries of text files, line by line and without the readers that the import uses.
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
            let isMeasured = column(row, "Type") == "NUMERICAL"
            if let name = files.contents.keys.sorted().first(where: {
                $0.hasPrefix(prefix) && $0.hasSuffix("/Checkmarks.csv")
            }) {
                for mark in rows(files, name) where mark.count > 1 {
                    add(mark[0], mark[1], mark.count > 2 ? mark[2] : nil, isMeasured, &tally)
                }
            } else {
                for marks in rows(files, "Checkmarks.csv") where marks.count > number + 1 {
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
        guard let day = PlainDay.iso(date) else { return }
        if mark == "YES_MANUAL" || (mark == "2" && !isMeasured) {
            tally.add(day: day, value: nil, note: note)
        } else if isMeasured, let value = Double(mark), value >= 0 {
            tally.add(day: day, value: value / 1_000, note: note)
        }
    }

    private static func rows(_ files: SourceFiles, _ name: String) -> [[String]] {
        rows(String(decoding: files.contents[name] ?? [], as: UTF8.self))
    }

    // MARK: HabitBull

    static func habitBull(_ text: String) -> [HabitTally] {
        let all = rows(text)
        let header = all.first ?? []
        guard let name = header.firstIndex(of: "HabitName"), let date = header.firstIndex(of: "CalendarDate"),
            let value = header.firstIndex(of: "Value")
        else { return [] }
        let note = header.firstIndex(of: "CommentText")
        let whole = all.dropFirst().filter { $0.count == header.count && $0 != [""] }
        let isDayFirst =
            whole.contains { Int($0[date].split(separator: "/").first ?? "") ?? 0 > 12 && $0[date].contains("/") }
            && !whole.contains { row in
                let parts = row[date].split(separator: "/")
                return parts.count == 3 && Int(parts[1]) ?? 0 > 12
            }
        var tallies: [String: HabitTally] = [:]
        var marks: [String: [(String, Double?, String?)]] = [:]
        for row in whole {
            tallies[row[name]] = tallies[row[name]] ?? HabitTally(name: row[name])
            marks[row[name], default: []].append((row[date], Double(row[value]), note.map { row[$0] }))
        }
        for (habit, marks) in marks {
            let isMeasured = marks.contains { $0.1 != nil && $0.1 != 0 && $0.1 != 1 }
            for (date, value, note) in marks {
                guard let value, isMeasured || value == 1, let day = day(date, isDayFirst) else { continue }
                tallies[habit]?.add(day: day, value: isMeasured ? value : nil, note: note)
            }
        }
        return Array(tallies.values)
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
        let logLine = try Regex("^(\\d{4}-\\d{2}-\\d{2}) : (.+?) : y *?(?: : (.*))?$").anchorsMatchLineEndings()
        for match in log.matches(of: logLine) {
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

    private static func text(_ match: Regex<AnyRegexOutput>.Match, _ group: Int, trims: Bool = true) -> String {
        let text = String(match.output[group].substring ?? "")
        return trims ? text.trimmingCharacters(in: .whitespaces) : text
    }

    // MARK: Rows

    /// Rows of comma-separated values, character by character.
    private static func rows(_ text: String) -> [[String]] {
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
