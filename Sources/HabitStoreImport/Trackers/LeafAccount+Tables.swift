import Foundation
import HabitStore
import HabitTracking

extension LeafAccount {
    /// Accounts for lists that were read by a mapping: that each value of the file is in one of the lists, and what became of the
    /// lists.
    mutating func takeTables(_ tables: SourceTables, _ mapping: CoreDataMapping, _ path: String) throws {
        var listed: [String: Int] = [:]
        for table in tables.tables {
            for row in table.rows {
                for leaf in Self.leaves("", .object(row.fields)) { listed[leaf.words, default: 0] += 1 }
            }
        }
        let others = Self.leaves("", .object(tables.others))
        for leaf in others { listed[leaf.words, default: 0] += 1 }
        try Self.forEachLeaf(of: path) { list, leaf in
            if let left = listed[leaf.words], left > 0 {
                listed[leaf.words] = left - 1
            } else {
                note(1, of: leaf.name, in: list)
            }
        }
        take("the file", others)
        var names: [String: String] = [:]
        for entity in mapping.entities where entity.target == "Habit" { takeHabits(entity, tables, &names) }
        let habits = mapping.entities.first { $0.target == "Habit" }
        for entity in mapping.entities where entity.target == "Entry" { takeEntries(entity, tables, habits, names) }
        let mapped = Set(mapping.entities.filter { $0.target != nil }.map(\.source))
        for table in tables.tables where !mapped.contains(table.name) {
            for row in table.rows { take(table.name, Self.leaves("", .object(row.fields))) }
        }
    }

    /// Every value of a file, without its lists' reader.
    private static func forEachLeaf(of path: String, _ body: (_ list: String, Leaf) -> Void) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return }
        if isFolder.boolValue {
            for name in try FileManager.default.contentsOfDirectory(atPath: path).sorted()
            where name.lowercased().hasSuffix(".csv") {
                forEachCell(of: try DurableFile.read(path + "/" + name).bytes, name, body)
            }
            return
        }
        let bytes = try DurableFile.read(path).bytes
        if bytes.starts(with: Array("SQLite format 3\0".utf8)) {
            let database = try SourceDatabase(path: path)
            for table in database.tableNames where !table.hasPrefix("sqlite_") {
                try database.forEachRow(table) { row in
                    for (column, value) in row {
                        for leaf in leaves(column, ImportJSON(value)) { body(table, leaf) }
                    }
                }
            }
        } else if let json = try? JSONValueParser.parse(bytes) {
            for leaf in leaves("items", json) { body("the file", leaf) }
        } else {
            forEachCell(of: bytes, "the file", body)
        }
    }

    private static func forEachCell(of bytes: [UInt8], _ list: String, _ body: (_ list: String, Leaf) -> Void) {
        let rows = TextTally.rows(String(decoding: bytes, as: UTF8.self))
        for row in rows.dropFirst() { for leaf in leaves(rows[0], row) { body(list, leaf) } }
    }

    private static func column(_ attribute: String, _ entity: CoreDataMapping.Entity) -> String {
        entity.attributes.first { $0.value == .some(attribute) }?.key ?? ""
    }

    private static func key(_ entity: CoreDataMapping.Entity, _ fields: [String: ImportJSON], _ place: Int) -> String {
        entity.key.flatMap { TableTally.text(fields[$0]) } ?? "\(entity.source) \(place)"
    }

    private func isMeant(_ row: SourceTables.Row, _ entity: CoreDataMapping.Entity) -> Bool {
        entity.only.allSatisfy { TableTally.matches(row.fields[$0.key], $0.value) }
    }

    private var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        return calendar
    }

    private mutating func takeHabits(
        _ entity: CoreDataMapping.Entity,
        _ tables: SourceTables,
        _ names: inout [String: String]
    ) {
        for (place, row) in (tables.tables.first { $0.name == entity.source }?.rows ?? []).enumerated() {
            let leaves = Self.leaves("", .object(row.fields))
            let name = TableTally.text(row.fields[Self.column("name", entity)]) ?? ""
            guard isMeant(row, entity), !name.isEmpty else {
                take(entity.source, leaves)
                continue
            }
            let key = Self.key(entity, row.fields, place)
            if names[key] == nil { names[key] = name }
            take(
                entity.source,
                leaves,
                .habit(name) { [calendar] habit in
                    leaves.filter { leaf in
                        guard let attribute = entity.attributes[leaf.name] ?? nil, let value = row.fields[leaf.name]
                        else {
                            return true
                        }
                        return !Self.carries(attribute, value, habit, entity.dates, calendar)
                    }
                }
            )
        }
    }

    private static func carries(
        _ attribute: String,
        _ value: ImportJSON,
        _ habit: Habit,
        _ dates: String?,
        _ calendar: Calendar
    ) -> Bool {
        switch attribute {
        case "name": return TableTally.text(value) == habit.name
        case "id": return TableTally.text(value).flatMap { UUID(uuidString: $0) } == habit.id
        case "category": return TableTally.text(value) == habit.category
        case "unit": return TableTally.text(value) == habit.unit
        case "target": return TableTally.number(value) == habit.target
        case "timesPerPeriod": return TableTally.number(value) == Double(habit.timesPerPeriod)
        case "periodDays": return TableTally.number(value) == Double(habit.periodDays)
        case "isArchived":
            let no = ["0", "no", "n", "false", "-"].contains((TableTally.text(value) ?? "").lowercased())
            return no != habit.isArchived
        case "createdAt":
            let parts = calendar.dateComponents([.year, .month, .day], from: habit.createdAt)
            let day = PlainDay.text(parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
            return day != nil && TableTally.day(value, dates, calendar) == day
        default: return false
        }
    }

    private mutating func takeEntries(
        _ entity: CoreDataMapping.Entity,
        _ tables: SourceTables,
        _ habits: CoreDataMapping.Entity?,
        _ names: [String: String]
    ) {
        guard let table = tables.tables.first(where: { $0.name == entity.source }) else { return }
        let link = entity.relationships.first { $0.value == .some("habit") }?.key
        let (date, number, note) = (
            Self.column("date", entity), Self.column("value", entity), Self.column("note", entity)
        )
        let parents = habits.flatMap { habits in tables.tables.first { $0.name == habits.source } }?.rows ?? []
        for row in table.rows {
            let leaves = Self.leaves("", .object(row.fields))
            guard isMeant(row, entity), let day = TableTally.day(row.fields[date], entity.dates, calendar) else {
                take(entity.source, leaves)
                continue
            }
            if let columns = entity.columns {
                let wide = columns.contains("*") ? table.columns : columns
                takeWide(
                    row,
                    wide.filter { entity.attributes[$0] == nil && entity.relationships[$0] == nil },
                    day,
                    date,
                    entity.source
                )
                continue
            }
            let parent = row.parent.flatMap { place in
                habits.flatMap { parents.indices.contains(place) ? Self.key($0, parents[place].fields, place) : nil }
            }
            guard let key = link.flatMap({ TableTally.text(row.fields[$0]) }) ?? parent,
                let habit = names[key] ?? (habits == nil ? key : nil)
            else {
                take(entity.source, leaves)
                continue
            }
            let value = TableTally.number(row.fields[number])
            let words = TableTally.text(row.fields[note])
            let carried = Set(
                [date, link, value == nil ? nil : number, words == nil ? nil : note].compactMap { $0 }
            )
            take(
                entity.source,
                leaves,
                .entry(Mark(habit, day, value, words)) { _ in leaves.filter { !carried.contains($0.name) } }
            )
        }
    }

    /// A row with a column for each habit: each mark is an entry, and the rest is kept as a row.
    private mutating func takeWide(
        _ row: SourceTables.Row,
        _ columns: [String],
        _ day: String,
        _ date: String,
        _ list: String
    ) {
        var rest = row.fields
        for column in columns {
            guard let mark = TableTally.mark(row.fields[column]) else { continue }
            rest[column] = nil
            let entry = Mark(column, day, mark.value, mark.note)
            take(list, Self.leaves("a habit's column", row.fields[column] ?? .null), .entry(entry) { _ in [] })
        }
        if rest.count < row.fields.count { rest[date] = nil }
        take(list, Self.leaves("", .object(rest)))
    }
}
