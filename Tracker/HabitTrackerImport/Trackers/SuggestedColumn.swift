import Foundation
import HabitStore
import HabitStoreImport
import HabitTracker
import JSONText

/// A column with what its name and its values say.
struct SuggestedColumn: Equatable {
    /// The format of the days in a column.
    struct Days: Equatable {
        /// As a mapping names it.
        let form: String?
        /// The values that it does not read; a few typing errors do not matter.
        var unread = 0
        /// Whether day and month could be exchanged.
        var isAmbiguous = false
    }

    let name: String
    /// The values of the rows that have one.
    let values: [JSON]
    /// The values as texts.
    let plainTexts: [String]
    let distinct: Set<String>
    let days: Days?
    /// Whether it is the days of a JSON list or object that consists of them.
    let isOfMap: Bool
    private let rows: Int
    private let words: [String]

    /// The name without case and separators.
    let plain: String

    init(_ name: String, _ rows: [SourceTables.Row], isOfMap: Bool) {
        self.name = name
        self.rows = rows.count
        values = rows.compactMap { $0.fields[name] }.filter { !$0.isEmpty }
        plainTexts = values.compactMap(\.plainText)
        distinct = Set(plainTexts)
        words = Self.words(name)
        plain = words.joined()
        days = Self.days(values, plain)
        self.isOfMap = isOfMap && days != nil
    }

    /// The words of a name, such as `entry_date` or `entryDate`.
    static func words(_ name: String) -> [String] {
        var words = [""]
        var last: Character?
        for letter in name {
            let isNew = !(letter.isLetter || letter.isNumber) || (letter.isUppercase && last?.isLowercase == true)
            if isNew { words.append("") }
            if letter.isLetter || letter.isNumber { words[words.count - 1] += letter.lowercased() }
            last = letter
        }
        return words.filter { !$0.isEmpty }
    }

    // MARK: Days

    private static func days(_ values: [JSON], _ plain: String) -> Days? {
        guard !values.isEmpty else { return nil }
        func read(_ form: String?) -> Days? {
            let unread = values.count { TableValue.moment($0, form) == nil }
            return 5 * unread <= values.count ? Days(form: form, unread: unread) : nil
        }
        if let days = read(nil) { return days }
        if let days = read("yearMonthDay"), values.allSatisfy({ isOfToday(TableValue.moment($0, "yearMonthDay")) }) {
            return days
        }
        switch (read("dayMonthYear"), read("monthDayYear")) {
        case (let first?, let second?):
            guard first.unread == second.unread else { return first.unread < second.unread ? first : second }
            return Days(form: first.form, unread: first.unread, isAmbiguous: true)
        case (let first, let second): if let days = first ?? second { return days }
        }
        let times = [
            "date", "time", "day", "at", "stamp", "when", "on", "millis", "seconds", "ms", "ts", "created", "updated",
            "modified", "added",
        ]
        let isTime = times.contains { plain.hasSuffix($0) } || plain.hasPrefix("date") || plain.hasPrefix("time")
        let numbers = values.compactMap { TableValue.number($0) }
        guard isTime, numbers.count == values.count, let least = numbers.min(), let most = numbers.max() else {
            return nil
        }
        let isDay = plain.hasSuffix("date") || plain.hasSuffix("day") || plain.hasPrefix("date")
        if isDay, (10_000...30_000).contains(least), (10_000...30_000).contains(most) { return read("daysSince1970") }
        let forms: [(String, ClosedRange<Double>)] = [
            ("secondsSince2001", 100_000_000...946_000_000),
            ("secondsSince1970", 946_684_800...4_102_444_800),
            ("millisecondsSince1970", 946_684_800_000...4_102_444_800_000),
        ]
        return forms.first { $0.1.contains(least) && $0.1.contains(most) }.flatMap { read($0.0) }
    }

    /// Whether a day may be one of an app's, rather than a number of eight digits.
    private static func isOfToday(_ moment: SourceMoment?) -> Bool {
        moment.map { (1970...2100).contains($0.day?.gregorian.year ?? 0) } ?? true
    }

    /// Whether most values look like days in some form, also one that cannot be read.
    var looksLikeDays: Bool {
        let sample = values.prefix(1_000)
        let days = sample.count { value in
            guard let text = value.text, text.count <= 40, text.contains(where: \.isNumber) else { return false }
            let signs = text.count { "/.-".contains($0) }
            if signs >= 2, text.allSatisfy({ $0.isNumber || "/.-:, TZAPMapm+".contains($0) }) { return true }
            return text.lowercased().split { !$0.isLetter }.contains { word in
                word.count >= 3 && Self.calendar.contains { $0.hasPrefix(word) }
            }
        }
        let isNumbered =
            (plain == "day" || (dayRank >= 4 && plain.hasSuffix("date")))
            && plainTexts.allSatisfy { $0.contains(where: \.isNumber) }
        return !values.isEmpty && (5 * days >= 4 * sample.count || isNumbered)
    }

    private static let calendar = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ]

    /// How much the name says that it is the day of a row: 3 and more are known words, 1 is another date, such as the creation's.
    var dayRank: Int {
        if isOfMap || plain == "date" || plain == "day" { return 5 }
        let others = ["creat", "updat", "modif", "chang", "added", "delet", "archiv", "insert", "upload", "export"]
        let begun = [
            "start", "end", "due", "sync", "remind", "birth", "regist", "expir", "next", "last", "first", "schedul",
            "paus", "target", "goal",
        ]
        if others.contains(where: { plain.contains($0) })
            || words.contains(where: { word in begun.contains { word.hasPrefix($0) } })
        {
            return 1
        }
        if plain.hasSuffix("date") || plain.hasSuffix("day") { return 4 }
        let known = [
            "timestamp", "time", "datetime", "when", "completed", "done", "checked", "logged", "performed", "recorded",
            "finished",
        ]
        let isKnown = words.contains(where: known.contains) || MappingWords.nearness(name, "date") > 0
        return isKnown || known.contains { plain == $0 + "at" || plain == $0 + "on" } ? 3 : 2
    }

    // MARK: Names

    /// Whether no two rows have the same value, and each has one.
    var isUnique: Bool { !values.isEmpty && distinct.count == rows }

    var isMostlyDistinct: Bool { !values.isEmpty && 5 * distinct.count >= 4 * values.count }

    /// Whether its values are UUIDs, or unique codes of one length.
    private var isCodes: Bool {
        if plainTexts.allSatisfy({ UUID(uuidString: $0) != nil }) { return true }
        return values.count > 1 && distinct.count == values.count && Set(plainTexts.map(\.count)).count == 1
            && plainTexts.allSatisfy {
                $0.count >= 8 && $0.contains(where: \.isNumber) && !$0.contains(where: \.isWhitespace)
            }
    }

    /// Whether its values may be names: short texts that are nothing else.
    var isName: Bool {
        !values.isEmpty && values.allSatisfy { ($0.text?.count ?? .max) <= 200 } && days == nil && !looksLikeDays
            && !isMarks
            && 2 * values.count { TableValue.number($0) != nil } < values.count && !isCodes
    }

    /// How much it is called like a name.
    var nameRank: Int {
        let near = MappingWords.nearness(name, "name")
        if near > 0 { return near }
        if plain.hasSuffix("name") || plain.hasSuffix("title") { return 50 }
        return ["text", "label", "habit"].contains(plain) ? 40 : 0
    }

    private static let habitWords = ["habit", "task", "activity", "activities", "routine", "track"]

    /// Whether it is called like a habit, or the identifier or the name of one.
    var isCalledHabit: Bool {
        Self.habitWords.contains { word in
            ["", "s", "id", "uuid", "key", "name", "title"].contains { plain == word + $0 }
        }
    }

    /// Whether it is called like an identifier.
    var isIdentifier: Bool { ["id", "uuid", "key"].contains { plain.hasSuffix($0) } }

    /// Whether it is called like the identifier of a list's rows.
    func leads(to list: String, _ suffix: String) -> Bool {
        let stem = String(plain.dropLast(suffix.count))
        return !stem.isEmpty && MappingWords.nearness(stem, list) == MappingWords.nearness(list, list)
    }

    /// Whether its values are several names each.
    var hasLists: Bool {
        values.contains { value in value.text.map { text in ["|", ";", ", "].contains { text.contains($0) } } ?? false }
    }

    // MARK: Marks

    var isMarks: Bool { !values.isEmpty && values.allSatisfy { TableValue.flag($0) != nil } }

    /// Whether it may be a habit in a list with a column per habit: marks, or small numbers.
    var isHabitsColumn: Bool {
        let others = ["id", "uuid", "week", "weekday", "month", "year", "day", "hour", "index", "count", "total"]
        guard name != "", MappingWords.isNothingElse(name), !others.contains(plain) else { return false }
        if Self.happenings.contains(plain) || Self.kinds.contains(plain) || Self.omissions.contains(plain) {
            return false
        }
        if values.isEmpty || isMarks { return true }
        let numbers = values.compactMap { TableValue.number($0) }
        // Amounts of a habit leave out days; numbers in each row are more like an hour.
        return numbers.count == values.count && numbers.allSatisfy { $0 == $0.rounded() && (0...10).contains($0) }
            && (values.count < rows || numbers.contains(0))
    }

    private static let kinds: Set<String> = [
        "type", "status", "state", "result", "outcome", "kind", "action", "event", "flag", "mark", "answer",
    ]
    private static let happenings: Set<String> = [
        "completed", "complete", "done", "success", "successful", "succeeded", "checked", "finished", "fulfilled",
        "kept", "achieved",
    ]
    private static let omissions: Set<String> = [
        "skipped", "skip", "missed", "failed", "fail", "deleted", "removed", "trashed",
    ]
    /// The beginnings of words for what happened on a day, and for nothing.
    private static let stems = [
        "complet", "done", "succe", "partial", "finish", "achiev", "kept", "check", "pass", "yes",
    ]
    private static let nothing = [
        "miss", "skip", "fail", "not", "cancel", "ignor", "snooz", "postpon", "pend", "undone", "incompl", "no",
    ]

    private static func begins(_ text: String, _ stems: [String]) -> Bool {
        words(text).contains { word in stems.contains { $0.count > 3 ? word.hasPrefix($0) : word == $0 } }
    }

    /// Whether its few values may say that something was done, or was not.
    var saysWhatHappened: Bool {
        guard !values.isEmpty, distinct.count <= 12 else { return isDeletion }
        let isOmission = Self.omissions.contains { plain.hasSuffix($0) }
        let isHappening = Self.happenings.contains { plain.hasSuffix($0) }
        if distinct.count == 1, values.count == rows {
            if isOmission { return TableValue.flag(values[0]) != false }
            return ((isHappening || plain == "value") && TableValue.flag(values[0]) == false)
                || distinct.contains { Self.begins($0, Self.nothing) }
        }
        if isOmission || isHappening || isDeletion || Self.kinds.contains(where: { plain.hasSuffix($0) }) {
            return true
        }
        if isMarks, MappingWords.isNothingElse(name) || values.contains(where: { TableValue.number($0) == nil }) {
            return true
        }
        return days == nil && values.allSatisfy { $0.text != nil && TableValue.number($0) == nil }
            && distinct.contains { Self.begins($0, Self.stems + Self.nothing) }
            && MappingWords.nearness(name, "note") == 0
    }

    /// Whether it says that a row was deleted.
    var isDeletion: Bool {
        guard
            words.contains(where: { ["deleted", "removed", "trashed"].contains($0) }) || plain.hasPrefix("isdeleted")
                || plain == "deletedat"
        else { return false }
        return values.contains { TableValue.flag($0) != false }
    }

    /// Whether it says of a list's rows that some are done, as of tasks to do once.
    var saysDone: Bool { distinct.count > 1 && isMarks && Self.happenings.contains { plain.hasSuffix($0) } }

    /// Whether it is called like entries, and has lists or objects that are not read as such.
    var mayHaveEntries: Bool {
        let names = ["date", "day", "history", "complet", "check", "log", "record", "entries"]
        return values.contains { $0.elements != nil || $0.members != nil } && names.contains { plain.contains($0) }
    }

    /// Whether its values name kinds of things, of which only some are habits.
    var namesKinds: Bool {
        guard Self.kinds.contains(where: { plain.hasSuffix($0) }), distinct.count > 1, distinct.count <= 12 else {
            return false
        }
        let kinds: Set = ["habit", "todo", "task", "daily", "reward", "event", "note", "project", "goal", "list"]
        return distinct.contains { text in kinds.contains { [$0, $0 + "s"].contains(text.lowercased()) } }
    }

    // MARK: Attributes

    /// Whether all values are of an attribute's form.
    func fits(_ attribute: String) -> Bool {
        switch attribute {
        case "createdAt": days.map { $0.unread == 0 && !$0.isAmbiguous } ?? false
        case "isArchived": isMarks
        case "target": !values.isEmpty && values.allSatisfy { TableValue.number($0) != nil }
        default: !values.isEmpty && values.allSatisfy { $0.text != nil } && days == nil
        }
    }

    /// The kind of its values, in words.
    var kind: String {
        if let days { return days.form.map { "dates, \($0)" } ?? "dates as 2026-01-31" }
        var kinds: [String] = []
        for value in values where !kinds.contains(Self.kind(value)) { kinds.append(Self.kind(value)) }
        return kinds.isEmpty ? "nothing" : kinds.joined(separator: " and ")
    }

    private static func kind(_ value: JSON) -> String {
        switch value {
        case .null: "nothing"
        case .bool: "true or false"
        case .int, .double: "numbers"
        case .string: "texts"
        case .array: "lists"
        case .object: "objects"
        }
    }
}
