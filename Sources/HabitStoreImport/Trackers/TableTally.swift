import Foundation
import HabitStore

/// Counts the entries of lists that were read by a mapping, with Foundation's calendar and date formats.
enum TableTally {
    static func count(_ tables: SourceTables, _ mapping: CoreDataMapping, _ timeZone: TimeZone) -> [HabitTally] {
        var tallies: [String: HabitTally] = [:]
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        func rows(_ entity: CoreDataMapping.Entity) -> [(Int, SourceTables.Row)] {
            let all = tables.tables.first { $0.name == entity.source }?.rows ?? []
            return all.enumerated().filter { _, row in
                entity.only.allSatisfy { column, values in matches(row.fields[column], values) }
            }.map { ($0.offset, $0.element) }
        }
        func column(_ attribute: String, _ entity: CoreDataMapping.Entity) -> String {
            entity.attributes.first { $0.value == .some(attribute) }?.key ?? ""
        }
        let habits = mapping.entities.filter { $0.target == "Habit" }
        for entity in habits {
            for (place, row) in rows(entity) {
                guard let name = text(row.fields[column("name", entity)]) else { continue }
                let key =
                    entity.key.map { text(row.fields[$0]) ?? "\(entity.source) \(place)" }
                    ?? "\(entity.source) \(place)"
                if tallies[key] == nil { tallies[key] = HabitTally(name: name) }
            }
        }
        for entity in mapping.entities where entity.target == "Entry" {
            let link = entity.relationships.first { $0.value == .some("habit") }?.key
            for (_, row) in rows(entity) {
                guard let day = day(row.fields[column("date", entity)], entity.dates, calendar) else { continue }
                if let columns = entity.columns {
                    let all = tables.tables.first { $0.name == entity.source }?.columns ?? []
                    for name in columns.contains("*") ? all : columns
                    where entity.attributes[name] == nil && entity.relationships[name] == nil {
                        var tally = tallies[name] ?? HabitTally(name: name)
                        add(row.fields[name], day, &tally)
                        tallies[name] = tally
                    }
                    continue
                }
                let parent = row.parent.flatMap { place -> String? in
                    guard let owner = habits.first, let table = tables.tables.first(where: { $0.name == owner.source })
                    else {
                        return nil
                    }
                    return owner.key.flatMap { text(table.rows[place].fields[$0]) } ?? "\(owner.source) \(place)"
                }
                guard let key = link.flatMap({ text(row.fields[$0]) }) ?? parent else { continue }
                if tallies[key] == nil {
                    guard habits.isEmpty else { continue }
                    tallies[key] = HabitTally(name: key)
                }
                tallies[key]?.add(
                    day: day,
                    value: number(row.fields[column("value", entity)]),
                    note: text(row.fields[column("note", entity)])
                )
            }
        }
        return Array(tallies.values)
    }

    static func matches(_ value: ImportJSON?, _ constants: [MappedConstant]) -> Bool {
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

    private static func add(_ value: ImportJSON?, _ day: String, _ tally: inout HabitTally) {
        guard let mark = mark(value) else { return }
        tally.add(day: day, value: mark.value, note: mark.note)
    }

    /// A mark in the column of a habit: a number is an amount, a word that is neither yes nor no is a note; nil for none.
    static func mark(_ value: ImportJSON?) -> (value: Double?, note: String?)? {
        let words = (text(value) ?? "").lowercased()
        if ["", "0", "no", "n", "false", "-", "0.0"].contains(words) { return nil }
        let amount = Double(words)
        if amount == 0 { return nil }
        let isMark = ["1", "yes", "y", "true", "x", "✓", "✔", "✅", "done", "1.0"].contains(words)
        return (
            isMark || amount == 1 ? nil : amount.flatMap { $0.isFinite ? $0 : nil },
            isMark || amount?.isFinite == true ? nil : text(value)
        )
    }

    static func text(_ value: ImportJSON?) -> String? {
        switch value {
        case .string(let text)?: text.isEmpty ? nil : text
        case .int(let number)?: "\(number)"
        case .double(let number)?: number == number.rounded() && abs(number) < 9e18 ? "\(Int64(number))" : "\(number)"
        case .bool(let flag)?: flag ? "true" : "false"
        default: nil
        }
    }

    static func number(_ value: ImportJSON?) -> Double? {
        switch value {
        case .int(let number)?: Double(number)
        case .double(let number)? where number.isFinite: number
        case .string(let text)?: Double(text).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    static func day(_ value: ImportJSON?, _ form: String?, _ calendar: Calendar) -> String? {
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
        case "dayMonthYear", "monthDayYear":
            let parts = (text(value) ?? "").components(separatedBy: CharacterSet(charactersIn: "/.-")).compactMap {
                Int($0)
            }
            guard parts.count == 3 else { return nil }
            return form == "dayMonthYear"
                ? PlainDay.text(parts[2], parts[1], parts[0]) : PlainDay.text(parts[2], parts[0], parts[1])
        default:
            let words = text(value) ?? ""
            if let date = ISO8601DateFormatter().date(from: words) { return day(date) }
            return PlainDay.iso(String(words.prefix(10)))
        }
    }
}
