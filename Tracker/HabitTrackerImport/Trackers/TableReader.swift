import Foundation
import HabitStore
import HabitStoreImport
import JSONText

/// Reads habits and entries from lists without a dedicated reader, by a mapping: one list of habits and one of their entries, or a list
/// with a column per habit.
struct TableReader {
    private let tables: SourceTables
    private let mapping: CoreDataMapping
    private let timeZone: TimeZone
    /// The lists that become habits.
    private let habitLists: Set<String>

    /// The habits read so far.
    private struct Keys {
        var all: Set<String> = []
        /// By the rows they were made from.
        var places: [SourceTables.Place: String] = [:]
    }

    /// The attributes that a list can provide, by entity.
    private static let attributes: [String: Set<String>] = [
        "Habit": [
            "id", "name", "createdAt", "category", "isArchived", "timesPerPeriod", "periodDays", "unit", "target",
        ],
        "Entry": ["id", "date", "note", "value"],
    ]

    /// - Throws: ``HabitStoreError/Code/invalidValue`` if the mapping does not fit the lists, or has open questions.
    init(_ tables: SourceTables, _ mapping: CoreDataMapping, timeZone: TimeZone) throws {
        try mapping.requireAnswers(at: tables.path)
        (self.tables, self.mapping, self.timeZone) = (tables, mapping, timeZone)
        habitLists = Set(mapping.entities.filter { $0.target == "Habit" }.map(\.source))
        for entity in mapping.entities { try require(entity) }
        guard mapping.entities.contains(where: { $0.target == "Entry" || $0.target == "Habit" }) else {
            throw wrong("nothing is mapped to Habit or Entry", nil)
        }
    }

    // MARK: The mapping

    private func table(_ name: String) -> SourceTables.Table? { tables.tables.first { $0.name == name } }

    private func require(_ entity: CoreDataMapping.Entity) throws {
        guard let table = table(entity.source) else {
            let names = tables.tables.map(\.name).joined(separator: ", ")
            throw wrong("there is no list \(entity.source); there are \(names)", entity.source)
        }
        guard let target = entity.target else { return }
        if let dates = entity.dates, !TableValue.dateForms.contains(dates) {
            let forms = TableValue.dateForms.joined(separator: ", ")
            throw wrong("dates is \(dates); there are \(forms), and none of them for 2026-01-31", entity.source)
        }
        guard let known = Self.attributes[target] else {
            throw wrong("\(entity.source) can become Habit or Entry, and not \(target)", entity.source)
        }
        let listed = entity.columns?.filter { $0 != "*" } ?? []
        for column in Array(entity.attributes.keys) + Array(entity.relationships.keys) + Array(entity.only.keys)
            + listed
            + [entity.key].compactMap({ $0 }) where !table.columns.contains(column)
        {
            let names = table.columns.joined(separator: ", ")
            throw wrong("\(entity.source) has no column \(column); it has \(names)", entity.source, column)
        }
        for (column, attribute) in entity.attributes {
            guard let attribute, !known.contains(attribute) else { continue }
            throw wrong("\(target) has no attribute \(attribute)", entity.source, column)
        }
        for (column, relationship) in entity.relationships where relationship != nil && relationship != "habit" {
            throw wrong("\(target) has no relationship \(relationship ?? "")", entity.source, column)
        }
        if target == "Entry", habitLists.count > 1,
            let link = entity.relationships.first(where: { $0.value == "habit" })
        {
            let lists = habitLists.sorted().joined(separator: " or ")
            throw wrong(
                "\(entity.source).\(link.key) may lead to \(lists), which all become Habit: write a mapping for each of them "
                    + "with its entries alone, and import the file by one after the other, told apart by --source NAME",
                entity.source,
                link.key
            )
        }
        let needed = target == "Habit" ? "name" : "date"
        guard entity.attributes.values.contains(needed) else {
            throw wrong("\(target).\(needed) needs a column of \(entity.source)", entity.source, needed)
        }
    }

    private func wrong(_ message: String, _ entity: String?, _ column: String? = nil) -> HabitStoreError {
        HabitStoreError(
            .invalidValue,
            "the mapping does not fit: \(message)",
            at: .init(path: tables.path, entity: entity, attribute: column)
        )
    }

    /// The column mapped to an attribute.
    private static func column(_ attribute: String, _ entity: CoreDataMapping.Entity) -> String? {
        entity.attributes.first { $0.value == attribute }?.key
    }

    // MARK: Reading

    func read() -> TrackerSource {
        var source = TrackerSource(.table, path: tables.path)
        source.note(tables.oddities)
        source.loseCutFiles(tables.cutFiles)
        source.counts = tables.tables.map { ($0.name, $0.rows.count) }
        var keys = Keys()
        for entity in mapping.entities where entity.target == "Habit" { readHabits(entity, &source, &keys) }
        for entity in mapping.entities where entity.target == "Entry" { readEntries(entity, &source, &keys) }
        let mapped = Set(mapping.entities.filter { $0.target != nil }.map(\.source))
        for table in tables.tables where !mapped.contains(table.name) {
            for row in table.rows { source.keep("\(table.name): no place here", row.fields) }
        }
        let others = tables.others.filter { !$0.value.isEmpty }
        if !others.isEmpty { source.keep("the file: beside its lists", others) }
        return source
    }

    private func readHabits(_ entity: CoreDataMapping.Entity, _ source: inout TrackerSource, _ keys: inout Keys) {
        for (place, row) in (table(entity.source)?.rows ?? []).enumerated() {
            guard Self.isMeant(row.fields, entity) else {
                source.keep("\(entity.source): left out by the mapping", row.fields)
                continue
            }
            let name = Self.column("name", entity).flatMap { row.fields[$0]?.plainText } ?? ""
            let key =
                entity.key.flatMap { row.fields[$0]?.plainText }.map { keyed($0, entity) }
                ?? "\(entity.source) \(place)"
            guard !name.isEmpty, keys.all.insert(key).inserted else {
                source.keep("\(entity.source): without a name, or with the key of another", row.fields)
                continue
            }
            keys.places[.init(list: entity.source, row: place)] = key
            var habit = TrackerHabit(key: key, name: name)
            var rest = row.fields.filter { !$0.value.isEmpty }
            for (column, attribute) in entity.attributes {
                guard let attribute, let value = row.fields[column], fill(&habit, attribute, value, entity.dates) else {
                    continue
                }
                rest[column] = nil
            }
            habit.rest = rest
            source.habits.append(habit)
        }
    }

    /// Each of several lists has its own numbering of habits.
    private func keyed(_ key: String, _ entity: CoreDataMapping.Entity) -> String {
        habitLists.count > 1 ? "\(entity.source)\u{1F}\(key)" : key
    }

    private func fill(_ habit: inout TrackerHabit, _ attribute: String, _ value: JSON, _ dates: String?) -> Bool {
        switch attribute {
        case "name": return true
        case "id": habit.id = value.text.flatMap { UUID(uuidString: $0) }
        case "createdAt": habit.created = TableValue.moment(value, dates)
        case "category": habit.category = value.plainText
        case "unit": habit.unit = value.plainText
        case "target": habit.target = TableValue.number(value)
        case "isArchived":
            guard let flag = TableValue.flag(value) else { return false }
            habit.isArchived = flag
            return true
        case "timesPerPeriod", "periodDays":
            guard let number = TableValue.number(value).flatMap({ Int(exactly: $0) }), number > 0, number <= 100_000
            else {
                return false
            }
            if attribute == "periodDays" { habit.periodDays = number } else { habit.timesPerPeriod = number }
            return true
        default: return false
        }
        switch attribute {
        case "id": return habit.id != nil
        case "createdAt": return habit.created != nil && TableValue.isWhole(value)
        case "category": return habit.category != nil
        case "unit": return habit.unit != nil
        default: return habit.target != nil
        }
    }

    private func readEntries(_ entity: CoreDataMapping.Entity, _ source: inout TrackerSource, _ keys: inout Keys) {
        guard let table = table(entity.source), let dateColumn = Self.column("date", entity) else { return }
        let link = entity.relationships.first { $0.value == "habit" }?.key
        let wide = columns(entity, table)
        for row in table.rows {
            guard let moment = row.fields[dateColumn].flatMap({ TableValue.moment($0, entity.dates) }) else {
                source.keep("\(entity.source): on a day that cannot be read", row.fields)
                continue
            }
            guard Self.isMeant(row.fields, entity) else {
                source.keep("\(entity.source): left out by the mapping", row.fields)
                continue
            }
            if let wide {
                readWide(row, wide, moment, entity, &source, &keys)
                continue
            }
            let named = link.flatMap { row.fields[$0]?.plainText }
            let owner = row.ancestors.last { habitLists.contains($0.list) }
            guard named != nil || owner != nil else {
                source.keep("\(entity.source): of no habit", row.fields)
                continue
            }
            guard let key = named ?? owner.flatMap({ keys.places[$0] }), keys.all.contains(key) || habitLists.isEmpty
            else {
                source.keep("\(entity.source): of a habit that is not there", row.fields)
                continue
            }
            if keys.all.insert(key).inserted { source.habits.append(TrackerHabit(key: key, name: key)) }
            var used = Set([link].compactMap { $0 })
            if row.fields[dateColumn].map(TableValue.isWhole) ?? false { used.insert(dateColumn) }
            var entry = TrackerEntry(key: source.key(key, TableValue.words(moment)), habit: key, moment: moment)
            for (column, attribute) in entity.attributes {
                guard let attribute, let value = row.fields[column] else { continue }
                switch attribute {
                case "note": entry.note = value.plainText
                case "value": entry.value = TableValue.number(value)
                default: continue
                }
                if attribute == "note" ? entry.note != nil : entry.value != nil { used.insert(column) }
            }
            entry.rest = row.fields.filter { !used.contains($0.key) && !$0.value.isEmpty }
            source.entries.append(entry)
        }
    }

    // MARK: One column per habit

    private func columns(_ entity: CoreDataMapping.Entity, _ table: SourceTables.Table) -> [String]? {
        guard let columns = entity.columns else { return nil }
        guard columns.contains("*") else { return columns }
        return table.columns.filter { entity.attributes[$0] == nil && entity.relationships[$0] == nil }
    }

    private func readWide(
        _ row: SourceTables.Row,
        _ columns: [String],
        _ moment: SourceMoment,
        _ entity: CoreDataMapping.Entity,
        _ source: inout TrackerSource,
        _ keys: inout Keys
    ) {
        var rest = row.fields
        if let date = Self.column("date", entity) { rest[date] = nil }
        for column in columns {
            if keys.all.insert(column).inserted { source.habits.append(TrackerHabit(key: column, name: column)) }
            guard let value = row.fields[column], TableValue.isKept(value) else { continue }
            rest[column] = nil
            var entry = TrackerEntry(key: source.key(column, TableValue.words(moment)), habit: column, moment: moment)
            // A mark is not an amount.
            if let number = TableValue.number(value), number != 1 { entry.value = number }
            if TableValue.number(value) == nil, TableValue.flag(value) == nil { entry.note = value.plainText }
            source.entries.append(entry)
        }
        let left = rest.filter { !$0.value.isEmpty }
        let isUsed = rest.count < row.fields.count - (Self.column("date", entity) == nil ? 0 : 1)
        guard !left.isEmpty || !isUsed else { return }
        // A day on which nothing was done is kept whole.
        guard isUsed else { return source.keep("\(entity.source): not kept, or no place here", row.fields) }
        var kept = left
        kept["day"] = .string(TableValue.words(moment))
        source.keep("\(entity.source): not kept, or no place here", kept)
    }

    private static func isMeant(_ fields: [String: JSON], _ entity: CoreDataMapping.Entity) -> Bool {
        entity.only.allSatisfy { column, values in
            let found = fields[column]?.plainText ?? ""
            return values.contains { $0.plainText == found }
        }
    }
}

/// Parses the cells of a list.
enum TableValue {
    static let dateForms = [
        "secondsSince1970", "millisecondsSince1970", "secondsSince2001", "daysSince1970", "yearMonthDay",
        "dayMonthYear", "monthDayYear",
    ]

    /// The day or the instant; nil if it is neither, or if any part of it is not understood.
    static func moment(_ value: JSON, _ form: String?) -> SourceMoment? {
        switch form {
        case "secondsSince1970": return number(value).flatMap { instant($0) }
        case "millisecondsSince1970": return number(value).flatMap { instant($0 / 1_000) }
        case "secondsSince2001": return number(value).flatMap { instant($0 + 978_307_200) }
        case "daysSince1970":
            return number(value).flatMap { Int(exactly: $0) }.flatMap(SourceMoment.day(number:)).map { .day($0) }
        case "yearMonthDay":
            let text = value.plainText ?? ""
            let isCompact = text.utf8.count == 8 && SourceMoment.number(text) != nil
            let words =
                isCompact
                ? [text.prefix(4), text.dropFirst(4).prefix(2), text.suffix(2)]
                : text.split(omittingEmptySubsequences: false) { "/.-".contains($0) }
            let parts = words.compactMap { SourceMoment.number($0) }
            guard words.count == 3, parts.count == 3, words.map(\.utf8.count).first == 4,
                words.dropFirst().allSatisfy({ $0.utf8.count <= 2 })
            else { return nil }
            return SourceMoment.day(year: parts[0], month: parts[1], day: parts[2]).map { .day($0) }
        case "dayMonthYear", "monthDayYear":
            let words = (value.text ?? "").split(omittingEmptySubsequences: false) { "/.-".contains($0) }
            let parts = words.compactMap { SourceMoment.number($0) }
            // A year of two digits may be of any century.
            guard words.count == 3, parts.count == 3, words[2].utf8.count == 4 else { return nil }
            let (day, month) = form == "dayMonthYear" ? (parts[0], parts[1]) : (parts[1], parts[0])
            return SourceMoment.day(year: parts[2], month: month, day: day).map { .day($0) }
        default:
            guard let text = value.text else { return nil }
            if let day = SourceMoment.day(iso: text) { return .day(day) }
            guard let day = SourceMoment.day(iso: text.prefix(10)), let time = TableTime(text.dropFirst(10)) else {
                return nil
            }
            guard let offset = time.offset else { return .wallClock(day, second: time.second) }
            return .instant(
                Date(timeIntervalSince1970: Double(day.number) * 86_400 + Double(time.second - offset) + time.fraction)
            )
        }
    }

    /// Whether a moment has everything in its text: wall-clock times have whole seconds, instants microseconds.
    static func isWhole(_ text: JSON) -> Bool {
        guard let time = text.text.flatMap({ TableTime($0.dropFirst(10)) }) else { return true }
        return time.offset == nil ? time.fraction == 0 : time.fractionDigits <= 6
    }

    private static func instant(_ seconds: Double) -> SourceMoment? {
        // Excludes years with more than four digits.
        guard seconds.isFinite, abs(seconds) < 253_402_300_800 else { return nil }
        return .instant(Date(timeIntervalSince1970: seconds))
    }

    static func words(_ moment: SourceMoment) -> String {
        switch moment {
        case .day(let day): day.description
        case .wallClock(let day, let second): "\(day.description) \(second)"
        case .instant(let date): "\(date.timeIntervalSinceReferenceDate)"
        }
    }

    /// The number; nil if it is none, or if a double would not hold all of its digits.
    static func number(_ value: JSON) -> Double? {
        switch value {
        case .int(let number): return Double(exactly: number)
        case .double(let number): return number.isFinite ? number : nil
        case .string(let text):
            guard isDecimal(text), let number = Double(text), number.isFinite else { return nil }
            if let whole = Int64(text) { return Double(exactly: whole) }
            return digits(text) == digits("\(number)") ? number : nil
        default: return nil
        }
    }

    /// Whether a text is a decimal number, which may have a point and an exponent.
    static func isDecimal(_ text: String) -> Bool {
        text.utf8.contains { $0 >= 0x30 && $0 <= 0x39 } && Double(text) != nil
            && text.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
    }

    /// The significant digits of a number.
    private static func digits(_ text: String) -> Substring {
        let all = text.prefix { $0 != "e" && $0 != "E" }.filter { $0 >= "0" && $0 <= "9" }.drop { $0 == "0" }
        return all.prefix(all.reversed().drop { $0 == "0" }.count)
    }

    static func flag(_ value: JSON) -> Bool? {
        switch value {
        case .bool(let flag): return flag
        case .int(0), .double(0): return false
        case .int(1), .double(1): return true
        default: break
        }
        switch value.text?.lowercased() {
        case "1", "yes", "y", "true", "x", "✓", "✔", "✅", "done": return true
        case "0", "no", "n", "false", "-", "": return false
        default: return nil
        }
    }

    /// Whether a mark in a habit's column means that it was done.
    static func isKept(_ value: JSON) -> Bool {
        if value.isEmpty { return false }
        return flag(value) ?? (number(value) != 0)
    }
}

extension JSON {
    /// Reads a tracker's file with Foundation's decoder: `LeafAccount`, which checks what became of it, reads it with the parser.
    ///
    /// - Parameter refused: what is refused because the decoder would silently drop it.
    init(source bytes: [UInt8], _ refused: Set<JSONParser.Finding.Kind>, path: String) throws {
        guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
            throw HabitStoreError(.invalidSource, "the JSON is not text in UTF-8", at: .init(path: path))
        }
        var rules = JSONParser.Rules()
        rules.refused = refused
        try JSON.require(bytes, rules, path: path)
        do {
            self = try JSONDecoder().decode(JSON.self, from: Data(bytes))
        } catch {
            throw HabitStoreError(.invalidSource, "the file is damaged JSON", at: .init(path: path), underlying: error)
        }
    }

    /// The value as a text; a number without a fraction as its digits.
    var plainText: String? {
        switch self {
        case .string(let text): text.isEmpty ? nil : text
        case .int(let number): String(number)
        case .double(let number): Int64(exactly: number).map(String.init) ?? String(number)
        case .bool(let flag): String(flag)
        case .null, .array, .object: nil
        }
    }
}

extension MappedConstant {
    fileprivate var plainText: String {
        switch self {
        case .null: ""
        case .bool(let flag): String(flag)
        case .int(let number): String(number)
        case .double(let number): Int64(exactly: number).map(String.init) ?? String(number)
        case .string(let text): text
        }
    }
}

/// A time of day as text: ` 07:30`, `T07:30:15.25`, with or without an offset.
struct TableTime {
    /// Whole seconds since midnight.
    let second: Int
    /// The fraction of a second in microseconds, truncated so that the last moment of a day does not move to the next day.
    let fraction: Double
    let fractionDigits: Int
    /// Seconds east of UTC; nil for a wall-clock time.
    let offset: Int?

    /// Parses a whole text; nil if any part of it is not understood.
    init?(_ text: Substring) {
        guard let first = text.first, first == " " || first == "T" else { return nil }
        let clock = text.dropFirst().prefix { "0123456789:.".contains($0) }
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let hour = Self.number(parts[0], 1...2, below: 24),
            let minute = Self.number(parts[1], 2...2, below: 60)
        else { return nil }
        let seconds = parts.count == 3 ? parts[2].split(separator: ".", omittingEmptySubsequences: false) : ["00"]
        guard seconds.count <= 2, let second = Self.number(seconds[0], 2...2, below: 60) else { return nil }
        self.second = hour * 3_600 + minute * 60 + second
        if seconds.count == 2 {
            guard Self.number(seconds[1], 1...9, below: .max) != nil,
                let fraction = Double("0." + seconds[1].prefix(6))
            else { return nil }
            self.fraction = fraction
        } else {
            fraction = 0
        }
        fractionDigits = seconds.count == 2 ? seconds[1].utf8.count : 0
        var rest = text.dropFirst(1 + clock.count)
        if rest.isEmpty {
            offset = nil
            return
        }
        if rest.first == " " { rest = rest.dropFirst() }
        guard let offset = Self.offset(rest) else { return nil }
        self.offset = offset
    }

    /// Parses `Z`, `+02`, `+0200` or `+02:00`.
    private static func offset(_ text: Substring) -> Int? {
        if text == "Z" { return 0 }
        guard let sign = text.first, sign == "+" || sign == "-" else { return nil }
        let digits = text.dropFirst()
        var minutes = digits.dropFirst(2)
        if minutes.first == ":" { minutes = minutes.dropFirst() } else if minutes.isEmpty { minutes = "00" }
        guard let hour = number(digits.prefix(2), 2...2, below: 24), let minute = number(minutes, 2...2, below: 60)
        else { return nil }
        let seconds = hour * 3_600 + minute * 60
        // No time zone is further from UTC.
        guard seconds <= 18 * 3_600 else { return nil }
        return sign == "-" ? -seconds : seconds
    }

    private static func number(_ text: Substring, _ width: ClosedRange<Int>, below limit: Int) -> Int? {
        guard width.contains(text.utf8.count), let number = SourceMoment.number(text), number < limit else {
            return nil
        }
        return number
    }
}
