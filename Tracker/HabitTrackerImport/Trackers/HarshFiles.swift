import Foundation
import HabitStore
import HabitStoreImport
import JSONText

/// The two text files of harsh. `habits` has headings (`! Health`) and lines `name: frequency`; `log` has lines `2026-01-31 : name : y :
/// note : amount` with `y`, `n` or `s`(kipped). Lines that begin with `#` are comments.
enum HarshFiles {
    /// Whether most lines are log lines.
    static func isLog(_ text: String) -> Bool {
        isMost(text) { line in
            let parts = fields(line)
            return parts.count >= 3 && SourceMoment.day(iso: parts[0]) != nil
                && ["y", "n", "s"].contains(trimmed(parts[2]))
        }
    }

    /// Whether most lines define habits.
    static func isHabits(_ text: String) -> Bool {
        isMost(text) { line in
            if line.hasPrefix("! ") { return true }
            guard let (_, frequency) = nameAndFrequency(line) else { return false }
            return self.frequency(frequency) != nil
        }
    }

    private static func isMost(_ text: String, _ isMeant: (String) -> Bool) -> Bool {
        let lines = lines(text).filter { !trimmed($0).isEmpty && !$0.hasPrefix("#") }
        return 2 * lines.count(where: isMeant) > lines.count
    }

    static func read(habits: String?, log: String?, path: String) throws -> TrackerSource {
        var source = TrackerSource(.harsh, path: path)
        read(habits: habits ?? "", &source)
        var known = Set(source.habits.map(\.name))
        var (lineCount, remarks) = (0, 0)
        for (number, line) in lines(log ?? "").enumerated() where !line.isEmpty {
            guard !line.hasPrefix("#") else {
                remarks += 1
                source.keep("log: remarks", ["line": .int(Int64(number + 1)), "text": .string(line)])
                continue
            }
            lineCount += 1
            read(line, number + 1, &known, &source)
        }
        source.loseCutFiles(isCut(log ?? "") ? 1 : 0)
        source.counts = [("habits", source.habits.count), ("log lines", lineCount), ("log remarks", remarks)]
        return source
    }

    /// Whether a log ends in the middle of a line, before its result.
    private static func isCut(_ log: String) -> Bool {
        guard let last = lines(log).last, !last.isEmpty, !last.hasPrefix("#") else { return false }
        return fields(last).count < 3
    }

    private static func read(habits text: String, _ source: inout TrackerSource) {
        var heading: String?
        var unused: [String: JSON]?
        func keepUnused() { if let unused { source.keep("habits: headings of nothing", unused) } }
        for (number, line) in lines(text).enumerated() where !line.isEmpty {
            let kept: [String: JSON] = ["line": .int(Int64(number + 1)), "text": .string(line)]
            if line.hasPrefix("#") {
                source.keep("habits: remarks", kept)
            } else if line.hasPrefix("!") {
                keepUnused()
                heading = trimmed(String(line.dropFirst()))
                unused = heading == "" ? nil : kept
            } else if let (name, text) = nameAndFrequency(line), let (times, days) = frequency(text) {
                var habit = TrackerHabit(key: source.key(habitNamed: name), name: name)
                habit.category = heading.flatMap { $0.isEmpty ? nil : $0 }
                (habit.timesPerPeriod, habit.periodDays) = (max(1, times), days)
                if times == 0 {
                    source.note("habits that are only tracked, here daily")
                    habit.rest["frequency"] = .string(text)
                }
                let further = line.components(separatedBy: ": ").dropFirst(2).map(trimmed).filter { !$0.isEmpty }
                if !further.isEmpty { habit.rest["further"] = .array(further.map { .string($0) }) }
                source.habits.append(habit)
                unused = nil
            } else {
                source.keep("habits: lines that say no habit", kept)
            }
        }
        keepUnused()
    }

    private static func read(
        _ line: String,
        _ number: Int,
        _ known: inout Set<String>,
        _ source: inout TrackerSource
    ) {
        let kept: [String: JSON] = ["line": .int(Int64(number)), "text": .string(line)]
        let parts = fields(line)
        guard parts.count >= 3, let day = SourceMoment.day(iso: parts[0]), !trimmed(parts[1]).isEmpty else {
            return source.keep("log: lines that say no entry", kept)
        }
        switch trimmed(parts[2]) {
        case "y": break
        case "n": return source.keep("log: not done", kept)
        case "s": return source.keep("log: skipped", kept)
        default: return source.keep("log: lines that say no entry", kept)
        }
        let name = trimmed(parts[1])
        if known.insert(name).inserted {
            source.note("habits that only the log knows, here archived")
            source.habits.append(TrackerHabit(key: source.key(habitNamed: name), name: name, isArchived: true))
        }
        let key = source.key(name, day.description)
        if key != day.description { source.note("log lines of a habit on a day that has one already") }
        var entry = TrackerEntry(key: key, habit: name, moment: .day(day))
        if parts.count > 3, !trimmed(parts[3]).isEmpty { entry.note = trimmed(parts[3]) }
        if parts.count > 5 {
            entry.rest["further"] = .array(parts[5...].map { .string($0) })
            source.note("log lines with more than five fields")
        }
        if parts.count > 4, !trimmed(parts[4]).isEmpty {
            // The app writes 0 if there is no amount.
            if let amount = Double(trimmed(parts[4])), amount.isFinite {
                entry.value = amount == 0 ? nil : amount
            } else {
                entry.rest["amount"] = .string(parts[4])
                source.note("amounts that are not a number")
            }
        }
        source.entries.append(entry)
    }

    /// The fields of a log line. Editors remove trailing spaces and merge double ones: `y :  : ` may also be written `y :  :` or `y : :`,
    /// and `y : ` as `y :`.
    private static func fields(_ line: String) -> [String] {
        var text = trimmed(line) + " "
        while let place = text.range(of: " : : ") { text.replaceSubrange(place, with: " :  : ") }
        if !text.hasSuffix(" : ") { text.removeLast() }
        return text.components(separatedBy: " : ")
    }

    /// Parses `Gym: 3/7`.
    private static func nameAndFrequency(_ line: String) -> (String, String)? {
        let parts = line.components(separatedBy: ": ")
        guard parts.count >= 2, !trimmed(parts[0]).isEmpty else { return nil }
        return (trimmed(parts[0]), trimmed(parts[1]))
    }

    /// Parses a frequency: `3/7` is three times in seven days, `14` once in fourteen, `0` without a goal.
    private static func frequency(_ text: String) -> (times: Int, days: Int)? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map {
            SourceMoment.number(trimmed($0))
        }
        guard let first = parts.first ?? nil else { return nil }
        if parts.count == 1 { return first == 0 ? (0, 1) : (1, first) }
        guard parts.count == 2, let days = parts[1], days > 0 else { return nil }
        return (first, days)
    }

    private static func lines(_ text: String) -> [String] {
        text.split(omittingEmptySubsequences: false) { $0.isNewline }.map { String($0) }
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        text.trimmingCharacters(in: .whitespaces)
    }
}
