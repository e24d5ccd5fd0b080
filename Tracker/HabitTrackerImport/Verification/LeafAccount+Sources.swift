import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker
import JSONText

extension LeafAccount {
    /// Reads a source again and accounts for everything in it.
    mutating func take(_ finding: TrackerRecognition.Finding, path: String) throws {
        switch finding {
        case .database: break
        case .habitBull(let bytes): takeHabitBull(String(decoding: bytes, as: UTF8.self))
        case .files(let files): takeLoop(files)
        case .json(_, let format): try takeJSON(path, format)
        case .harsh(let habits, let log): try takeHarsh(habits ?? "", log ?? "")
        case .tables(let tables, let mapping, _): try takeTables(tables, mapping, path)
        }
    }

    // MARK: HabitBull

    private mutating func takeHabitBull(_ text: String) {
        let rows = TextTally.rows(text)
        guard let header = rows.first else { return }
        let marks = TextTally.habitBullMarks(rows)
        for (place, row) in rows.enumerated().dropFirst() where row != [""] {
            let leaves = Self.leaves(header, row)
            let claim = marks[place].map { mark in
                Claim.entry(mark) { habit in
                    leaves.filter { leaf in
                        if leaf.name == "HabitCategory" { return leaf.words != "t:\(habit?.category ?? "")" }
                        return !["HabitName", "CalendarDate", "Value", "CommentText"].contains(leaf.name)
                    }
                }
            }
            let habit = header.firstIndex(of: "HabitName").flatMap { $0 < row.count ? row[$0] : nil }
            let amount = header.firstIndex(of: "Value").flatMap { $0 < row.count ? row[$0] : nil } ?? ""
            let isIdle = Double(amount) == 0 || TextTally.isUnanswered(amount)
            take("rows", leaves, claim, saysNothing: isIdle, of: row.count == header.count ? habit : nil)
        }
    }

    // MARK: Loop's export

    private mutating func takeLoop(_ files: SourceFiles) {
        func rows(_ name: String) -> [[String]] {
            TextTally.rows(String(decoding: files.contents[name] ?? [], as: UTF8.self))
        }
        let habits = rows("Habits.csv")
        let header = habits.first ?? []
        let all = rows("Checkmarks.csv").dropFirst().filter { $0 != [""] }
        var used: Set<String> = ["Habits.csv", "Checkmarks.csv"]
        for (number, row) in habits.dropFirst().filter({ $0 != [""] }).enumerated() {
            let leaves = Self.leaves(header, row)
            func cell(_ name: String) -> String? {
                leaves.first { $0.name == name }.map { String($0.words.dropFirst(2)) }
            }
            let name = cell("Name") ?? ""
            take("Habits.csv", leaves, .habit(name) { habit in leaves.filter { !Self.carriesLoop($0, habit) } })
            let prefix = (cell("Position") ?? String(format: "%03d", number + 1)) + " "
            let own = files.contents.keys.sorted().first { $0.hasPrefix(prefix) && $0.hasSuffix("/Checkmarks.csv") }
            func isMeasured(_ days: some Sequence<[String]>, _ column: Int) -> Bool {
                TextTally.isMeasured(cell("Type") ?? "", days.filter { $0.count > column }.map { $0[column] })
            }
            var marks: Set<Mark> = []
            if let own {
                used.insert(own)
                let isMeasured = isMeasured(rows(own), 1)
                for (line, cells) in rows(own).enumerated() where cells != [""] && !(line == 0 && cells.first == "Date")
                {
                    let note = cells.count > 2 ? cells[2] : nil
                    let mark = cells.count > 1 ? TextTally.loopMark(name, cells[0], cells[1], note, isMeasured) : nil
                    if let mark { marks.insert(Mark(name, mark.day, mark.value, nil)) }
                    let leaves = cells.filter { !$0.isEmpty }.map { Leaf("row", "t:\($0)") }
                    take(
                        "check marks",
                        leaves,
                        mark.map { .entry($0) { _ in Array(Self.row(cells.dropFirst(3))) } },
                        saysNothing: cells.count > 1 && TextTally.idleMarks.contains(cells[1]),
                        of: prefix
                    )
                }
            }
            let isMeasuredInTable = own.map { isMeasured(rows($0), 1) } ?? isMeasured(all, number + 1)
            for cells in all where cells.count > number + 1 {
                let mark = TextTally.loopMark(name, cells[0], cells[number + 1], nil, isMeasuredInTable)
                if own == nil {
                    let isIdle = TextTally.idleMarks.contains(cells[number + 1])
                    take(
                        "Checkmarks.csv",
                        Self.row(cells),
                        mark.map { .entry($0) { _ in [] } },
                        saysNothing: isIdle,
                        of: prefix,
                        isShared: true
                    )
                } else if let mark, !marks.contains(mark) {
                    // The table repeats the marks in the habits' files.
                    note(1, of: "a habit's column", in: "Checkmarks.csv")
                }
            }
        }
        for name in files.contents.keys.sorted() where !used.contains(name) {
            let lines = rows(name)
            for row in lines.dropFirst() {
                let file = name.components(separatedBy: "/").last ?? name
                take(file, Self.leaves(lines[0], row), saysNothing: file == "Scores.csv")
            }
        }
    }

    private static func row(_ cells: some Sequence<String>) -> [Leaf] {
        cells.filter { !$0.isEmpty }.map { Leaf("row", "t:\($0)") }
    }

    private static func carriesLoop(_ leaf: Leaf, _ habit: Habit) -> Bool {
        let text = String(leaf.words.dropFirst(2))
        return switch leaf.name {
        // The position in the list, which locates the habit's file.
        case "Name", "Position": true
        case "Archived?": text.lowercased() == "\(habit.isArchived)"
        case "FrequencyNumerator", "NumRepetitions": Int(text) == habit.timesPerPeriod
        case "FrequencyDenominator", "Interval": Int(text) == habit.periodDays
        case "Unit": text == habit.unit
        case "Target Value": Double(text) == habit.target
        default: false
        }
    }

    // MARK: JSON

    private mutating func takeJSON(_ path: String, _ format: TrackerFormat) throws {
        let json: JSON
        do {
            json = try JSON(parsing: try WholeFile.read(path).bytes)
        } catch let failure as JSONFailure {
            throw HabitStoreError(.invalidSource, "the file is damaged JSON: \(failure)", at: .init(path: path))
        }
        var outer = json.members ?? ["habits": json]
        if format == .beaverhabits, let data = outer["data"]?.members {
            for (name, value) in outer where name != "data" && name != "habits" {
                take("the file", Self.leaves(name, value), saysNothing: !Self.isList(value))
            }
            outer = data
        }
        for (name, value) in outer where name != "habits" {
            take("the file", Self.leaves(name, value), saysNothing: !Self.isList(value))
            balance.add(aside: Self.isList(value) ? (value.elements?.count ?? 1) - 1 : 0, of: nil)
        }
        for element in outer["habits"]?.elements ?? [] {
            guard let fields = element.members else {
                take("habits", Self.leaves("value", element))
                continue
            }
            let records = fields["records"]?.elements
            let leaves = fields.filter { $0.key != "records" || records == nil }.flatMap {
                Self.leaves($0.key, $0.value)
            }
            let name = fields["name"]?.text ?? ""
            let isBeaver = format == .beaverhabits
            take(
                "habits",
                // A habit with only a name counts, too.
                leaves.isEmpty ? [Leaf("name", "t:")] : leaves,
                .habit(name) { [tags] habit in
                    leaves.filter { leaf in
                        !(isBeaver
                            ? Self.carriesBeaver(leaf, fields, habit, tags)
                            : Self.carriesTableHabit(leaf, fields, habit))
                    }
                }
            )
            for record in records ?? [] { takeRecord(record, of: name, isBeaver: isBeaver) }
        }
    }

    /// Whether a member is a list of objects, which may be records.
    private static func isList(_ value: JSON) -> Bool { value.elements?.contains { $0.members != nil } ?? false }

    private mutating func takeRecord(_ record: JSON, of habit: String, isBeaver: Bool) {
        guard let fields = record.members else { return take("records", Self.leaves("value", record)) }
        let leaves = Self.leaves("", record)
        let day: String?
        let isIdle: Bool
        var carried: Set<String>
        let mark: Mark?
        if isBeaver {
            day =
                fields["done"]?.flag ?? (fields["done"]?.integer == 1) ? fields["day"]?.text.flatMap(PlainDay.iso) : nil
            isIdle = fields["done"]?.flag == false || fields["done"]?.integer == 0
            carried = ["day", "done"]
            if fields["text"]?.text != nil { carried.insert("text") }
            mark = day.map { Mark(habit, $0, nil, fields["text"]?.text) }
        } else {
            let isDone = fields["record_type"]?.integer == 1
            day = isDone ? fields["record_date"]?.integer.map(PlainDay.text(daysSince1970:)) : nil
            isIdle = [0, 2].contains(fields["record_type"]?.integer)
            carried = ["record_type", "record_date"]
            if fields["record_value"]?.number != nil { carried.insert("record_value") }
            if fields["reason"]?.text != nil { carried.insert("reason") }
            // The entry's existence says that it was not deleted.
            if fields["is_deleted"]?.integer == 0 { carried.insert("is_deleted") }
            mark = day.map { Mark(habit, $0, fields["record_value"]?.number, fields["reason"]?.text) }
        }
        let claim = mark.map { Claim.entry($0) { _ in leaves.filter { !carried.contains($0.name) } } }
        take("records", leaves, claim, saysNothing: isIdle, of: habit)
    }

    private static func carriesBeaver(
        _ leaf: Leaf,
        _ fields: [String: JSON],
        _ habit: Habit,
        _ tags: [UUID: String]
    ) -> Bool {
        switch leaf.name {
        case "name": return leaf.words == "t:\(habit.name)"
        case "tags": return habit.tagIDs.contains { leaf.words == "t:\(tags[$0] ?? "")" }
        case "status": return habit.isArchived && leaf.words.hasPrefix("t:archive")
        case "weekly_goal": return habit.periodDays == 7 && leaf.words == "n:\(habit.timesPerPeriod)"
        case "target_count", "period_count", "period_type":
            let period = fields["period"]?.members ?? [:]
            let days = ["D": 1, "W": 7][period["period_type"]?.text ?? ""] ?? 0
            return period["target_count"]?.integer == habit.timesPerPeriod
                && (period["period_count"]?.integer ?? 0).multipliedReportingOverflow(by: days).partialValue
                    == habit.periodDays
        default: return false
        }
    }

    private static func carriesTableHabit(_ leaf: Leaf, _ fields: [String: JSON], _ habit: Habit) -> Bool {
        switch leaf.name {
        case "name": return leaf.words == "t:\(habit.name)"
        case "daily_goal_unit": return leaf.words == "t:\(habit.unit ?? "")"
        case "daily_goal": return fields["daily_goal"]?.number == habit.target
        case "start_date": return fields["start_date"]?.integer != nil
        case "status": return leaf.words == (habit.isArchived ? "n:3" : "n:1")
        case "freq_type", "freq_custom":
            let arguments =
                fields["freq_custom"]?.elements
                ?? fields["freq_custom"]?.text.flatMap { try? JSON(parsing: Array($0.utf8)).elements } ?? []
            let days = [1: 7, 2: 30, 3: arguments.dropFirst().first?.integer ?? 0][fields["freq_type"]?.integer ?? 0]
            return arguments.first?.integer == habit.timesPerPeriod && days == habit.periodDays
        default: return false
        }
    }

    // MARK: harsh

    private mutating func takeHarsh(_ habits: String, _ log: String) throws {
        func lines(_ text: String) -> [String] { text.components(separatedBy: .newlines).filter { !$0.isEmpty } }
        var heading: (text: String, isUsed: Bool)?
        func trimmed(_ text: String) -> String { text.trimmingCharacters(in: .whitespaces) }
        func end(_ account: inout LeafAccount) {
            guard let heading, !heading.isUsed else { return }
            account.take("headings", [Leaf("text", "t:\(heading.text)")], saysNothing: true)
        }
        for line in lines(habits) {
            let leaves = [Leaf("text", "t:\(line)")]
            if line.hasPrefix("!") {
                end(&self)
                heading = (line, trimmed(String(line.dropFirst())).isEmpty)
                continue
            }
            let parts = line.components(separatedBy: ": ").map(trimmed)
            guard !line.hasPrefix("#"), parts.count > 1 else {
                take("lines", leaves, saysNothing: line.hasPrefix("#"))
                continue
            }
            let section = heading.map { trimmed(String($0.text.dropFirst())) } ?? ""
            take(
                "lines",
                leaves,
                .habit(parts[0]) { habit in
                    let numbers = parts[1].components(separatedBy: "/").map { Int(trimmed($0)) }
                    let frequency = numbers.count == 1 ? [1, numbers[0]] : numbers
                    let isFrequency = frequency == [habit.timesPerPeriod, habit.periodDays]
                    let further = parts.dropFirst(2).filter { !$0.isEmpty }.map { Leaf("further", "t:\($0)") }
                    return (isFrequency ? [] : [Leaf("frequency", "t:\(parts[1])")])
                        + ((habit.category ?? "") == section ? [] : [Leaf("heading", "t:\(section)")]) + further
                }
            )
            heading?.isUsed = true
        }
        end(&self)
        for line in lines(log) {
            let parts = try TextTally.harshLines(line).components(separatedBy: " : ")
            let isMark = parts.count > 2 && trimmed(parts[2]) == "y"
            let amount = parts.count > 4 ? trimmed(parts[4]) : ""
            let number = Double(amount).flatMap { $0.isFinite ? $0 : nil }
            let mark = (isMark ? PlainDay.iso(parts[0]) : nil).map { day in
                Mark(trimmed(parts[1]), day, number == 0 ? nil : number, parts.count > 3 ? trimmed(parts[3]) : nil)
            }
            let rest =
                parts.dropFirst(5).filter { !$0.isEmpty }.map { Leaf("further", "t:\($0)") }
                + (amount.isEmpty || number != nil ? [] : [Leaf("amount", "t:\(parts[4])")])
            let isIdle = line.hasPrefix("#") || (parts.count > 2 && ["n", "s"].contains(trimmed(parts[2])))
            take(
                "log",
                [Leaf("text", "t:\(line)")],
                mark.map { .entry($0) { _ in rest } },
                saysNothing: isIdle,
                of: parts.count > 2 ? trimmed(parts[1]) : nil
            )
        }
    }
}
