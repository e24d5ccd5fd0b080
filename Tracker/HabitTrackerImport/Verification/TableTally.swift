import Foundation
import HabitStore
import HabitStoreImport
import JSONText

/// Counts the entries in lists read with a mapping, using Foundation's calendar and regular expressions. Nested JSON is read from the file
/// itself.
enum TableTally {
    private static let decimal = try? NSRegularExpression(
        pattern: "^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$"
    )
    private static let plainDate = try? NSRegularExpression(
        pattern: "^([0-9]{1,9})[-/.]([0-9]{1,9})[-/.]([0-9]{4})$"
    )
    /// The year, then month and day with separators, or without.
    private static let yearFirstDate = try? NSRegularExpression(
        pattern: "^([0-9]{4})(?:[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})|([0-9]{2})([0-9]{2}))$"
    )
    /// Day, hour, minute, second, fraction, offset.
    private static let isoDate = try? NSRegularExpression(
        pattern: "^([0-9]{4}-[0-9]{2}-[0-9]{2})"
            + "(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})([.][0-9]{1,9})?)?(?: ?(Z|[-+][0-9]{2}(?::?[0-9]{2})?))?)?$"
    )

    static func count(_ tables: SourceTables, _ mapping: CoreDataMapping, _ timeZone: TimeZone) throws -> [HabitTally] {
        var tallies: [[String]: HabitTally] = [:]
        var made: [NestedRows.Row.Owner: [String]] = [:]
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let json = try LeafAccount.json(tables.path)
        func rows(_ entity: CoreDataMapping.Entity) -> [NestedRows.Row] {
            let all =
                json.map { NestedRows(of: entity.source, in: $0).rows }
                ?? (tables.tables.first { $0.name == entity.source }?.rows ?? []).enumerated().map { place, row in
                    NestedRows.Row(fields: row.fields, place: place, owners: [])
                }
            return all.filter { row in
                entity.only.allSatisfy { column, values in matches(row.fields[column], values) }
            }
        }
        func cell(_ attribute: String, _ entity: CoreDataMapping.Entity, _ row: NestedRows.Row) -> JSON? {
            entity.attributes.first { $0.value == .some(attribute) }.flatMap { row.fields[$0.key] }
        }
        let habits = mapping.entities.filter { $0.target == "Habit" }
        let lists = Set(habits.map(\.source))
        for entity in habits {
            for row in rows(entity) {
                guard let name = text(cell("name", entity, row)) else { continue }
                let list = lists.count > 1 ? entity.source : ""
                let key = [list, entity.key.flatMap { text(row.fields[$0]) } ?? "\(entity.source) \(row.place)"]
                guard tallies[key] == nil else { continue }
                tallies[key] = HabitTally(name: name)
                made[.init(list: entity.source, place: row.place)] = key
            }
        }
        for entity in mapping.entities where entity.target == "Entry" {
            let link = entity.relationships.first { $0.value == .some("habit") }?.key
            for row in rows(entity) {
                guard let day = day(cell("date", entity, row), entity.dates, calendar) else { continue }
                if let columns = entity.columns {
                    let all = tables.tables.first { $0.name == entity.source }?.columns ?? []
                    for name in columns.contains("*") ? all : columns
                    where entity.attributes[name] == nil && entity.relationships[name] == nil {
                        var tally = tallies[["", name]] ?? HabitTally(name: name)
                        add(row.fields[name], day, &tally)
                        tallies[["", name]] = tally
                    }
                    continue
                }
                let linked = link.flatMap { text(row.fields[$0]) }.map { ["", $0] }
                let nearest = row.owners.reversed().first { lists.contains($0.list) }
                guard let key = linked ?? nearest.flatMap({ made[$0] }) else { continue }
                if tallies[key] == nil {
                    guard habits.isEmpty else { continue }
                    tallies[key] = HabitTally(name: key[1])
                }
                tallies[key]?.add(
                    day: day,
                    value: number(cell("value", entity, row)),
                    note: text(cell("note", entity, row))
                )
            }
        }
        return Array(tallies.values)
    }

    static func matches(_ value: JSON?, _ constants: [MappedConstant]) -> Bool {
        let found = text(value) ?? ""
        return constants.contains { constant in
            switch constant {
            case .null: found.isEmpty
            case .bool(let flag): found == (flag ? "true" : "false")
            case .int(let wanted): found == "\(wanted)"
            case .double(let wanted): Double(found) == wanted
            case .string(let wanted): found == wanted
            }
        }
    }

    private static func add(_ value: JSON?, _ day: String, _ tally: inout HabitTally) {
        guard let mark = mark(value) else { return }
        tally.add(day: day, value: mark.value, note: mark.note)
    }

    /// A mark in a habit's column: a number is an amount, a word other than yes or no is a note; nil if there is no mark.
    static func mark(_ value: JSON?) -> (value: Double?, note: String?)? {
        let words = (text(value) ?? "").lowercased()
        if ["", "0", "no", "n", "false", "-", "0.0"].contains(words) { return nil }
        let amount = number(value)
        if amount == 0 { return nil }
        let isMark = ["1", "yes", "y", "true", "x", "✓", "✔", "✅", "done", "1.0"].contains(words)
        return (
            isMark || amount == 1 ? nil : amount,
            isMark || amount != nil ? nil : text(value)
        )
    }

    static func text(_ value: JSON?) -> String? {
        switch value {
        case .string(let text)?: text.isEmpty ? nil : text
        case .int(let number)?: "\(number)"
        case .double(let number)?: number == number.rounded() && abs(number) < 9e18 ? "\(Int64(number))" : "\(number)"
        case .bool(let flag)?: flag ? "true" : "false"
        default: nil
        }
    }

    /// A number that a double holds exactly.
    static func number(_ value: JSON?) -> Double? {
        switch value {
        case .int(let number)?: return Int64(exactly: Double(number)) == number ? Double(number) : nil
        case .double(let number)? where number.isFinite: return number
        case .string(let text)?:
            guard !groups(decimal, text).isEmpty,
                let number = Double(text), number.isFinite
            else { return nil }
            if let whole = Int64(text) { return self.number(.int(whole)) }
            let (written, read) = (Decimal(string: text), Decimal(string: "\(number)"))
            return written == read ? number : nil
        default: return nil
        }
    }

    static func day(_ value: JSON?, _ form: String?, _ calendar: Calendar) -> String? {
        func day(_ date: Date) -> String? {
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            return PlainDay.text(parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
        }
        let amount = number(value).flatMap { abs($0) < 2.6e14 ? $0 : nil }
        switch form {
        case "secondsSince1970": return amount.map { Date(timeIntervalSince1970: $0) }.flatMap(day)
        case "millisecondsSince1970": return amount.map { Date(timeIntervalSince1970: $0 / 1_000) }.flatMap(day)
        case "secondsSince2001": return amount.map { Date(timeIntervalSinceReferenceDate: $0) }.flatMap(day)
        case "daysSince1970": return amount.flatMap { Int(exactly: $0) }.map { PlainDay.text(daysSince1970: $0) }
        case "yearMonthDay":
            let parts = groups(yearFirstDate, text(value) ?? "").dropFirst().compactMap { Int($0) }
            return parts.count == 3 ? PlainDay.text(parts[0], parts[1], parts[2]) : nil
        case "dayMonthYear", "monthDayYear":
            let parts = groups(plainDate, text(value) ?? "").dropFirst().compactMap {
                Int($0)
            }
            guard parts.count == 3 else { return nil }
            let (first, second, year) = (parts[0], parts[1], parts[2])
            return form == "dayMonthYear" ? PlainDay.text(year, second, first) : PlainDay.text(year, first, second)
        default:
            let written = text(value) ?? ""
            if written.utf8.count == 10 { return PlainDay.iso(written) }
            let found = groups(isoDate, written)
            guard let words = found.dropFirst().first, let plain = PlainDay.iso(words) else { return nil }
            let clock = found[2...4].map { Int($0) ?? 0 }
            guard clock[0] < 24, clock[1] < 60, clock[2] < 60 else { return nil }
            guard let zone = zone(found[6]) else { return found[6].isEmpty ? plain : nil }
            let days = plain.split(separator: "-").compactMap { Int($0) }
            let parts = DateComponents(
                calendar: Calendar(identifier: .gregorian),
                timeZone: zone,
                year: days[0],
                month: days[1],
                day: days[2],
                hour: clock[0],
                minute: clock[1],
                second: clock[2]
            )
            // Fractions of a second do not change the day.
            return parts.date.flatMap(day)
        }
    }

    private static func zone(_ text: String) -> TimeZone? {
        if text == "Z" { return .gmt }
        let digits = text.filter { $0.isNumber }
        guard let number = Int(digits.count == 2 ? digits + "00" : digits), number / 100 < 24, number % 100 < 60 else {
            return nil
        }
        let seconds = number / 100 * 3_600 + number % 100 * 60
        // Foundation has no zones more than 18 hours from UTC.
        return TimeZone(secondsFromGMT: text.hasPrefix("-") ? -seconds : seconds)
    }

    /// The groups of a match: the whole first, and "" for a group that did not participate; empty if the text does not match.
    private static func groups(_ expression: NSRegularExpression?, _ text: String) -> [String] {
        guard let expression else { return [] }
        let range = NSRange(text.startIndex..., in: text)
        guard let match = expression.firstMatch(in: text, range: range), match.range == range else { return [] }
        return (0..<match.numberOfRanges).map { group in
            Range(match.range(at: group), in: text).map { String(text[$0]) } ?? ""
        }
    }
}

/// The rows of a list in a JSON file, with the rows they are nested in. Follows the list's path in the file, without using the lists that
/// the import reads.
struct NestedRows {
    struct Row {
        /// A row, by its position in its list.
        struct Owner: Hashable {
            let list: String
            let place: Int
        }

        let fields: [String: JSON]
        let place: Int
        /// The rows it is nested in, outermost first.
        let owners: [Owner]
    }

    private(set) var rows: [Row] = []
    private let list: String
    private var counts: [String: Int] = [:]

    init(of list: String, in file: JSON) {
        self.list = list
        if file.elements != nil { follow(file, "items", []) } else { enter(file, "", []) }
    }

    private mutating func enter(_ object: JSON, _ path: String, _ owners: [Row.Owner]) {
        for (name, value) in (object.members ?? [:]).sorted(by: { $0.key < $1.key }) {
            follow(value, path.isEmpty ? name : path + "." + name, owners)
        }
    }

    private mutating func follow(_ value: JSON, _ path: String, _ owners: [Row.Owner]) {
        guard list == path || list.hasPrefix(path + ".") else { return }
        if let elements = value.elements {
            let isList = path == "items" || elements.contains { $0.members != nil }
            guard isList || elements.allSatisfy({ Self.isDay($0.text) }) else { return }
            for element in elements {
                let owner = add(element.members ?? ["value": element], path, owners)
                enter(element, path, owners + [owner])
            }
        } else if let members = value.members, !members.isEmpty, members.keys.allSatisfy({ Self.isDay($0) }) {
            for (day, value) in members.sorted(by: { $0.key < $1.key }) {
                _ = add(["key": .string(day), "value": value], path, owners)
            }
        } else if owners.isEmpty {
            enter(value, path, owners)
        }
    }

    private mutating func add(_ fields: [String: JSON], _ path: String, _ owners: [Row.Owner]) -> Row.Owner {
        let place = counts[path, default: 0]
        counts[path] = place + 1
        if path == list { rows.append(Row(fields: fields, place: place, owners: owners)) }
        return Row.Owner(list: path, place: place)
    }

    private static func isDay(_ text: String?) -> Bool { text.flatMap { PlainDay.iso(String($0.prefix(10))) } != nil }
}
