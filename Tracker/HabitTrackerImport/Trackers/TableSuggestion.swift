import HabitStore
import HabitStoreImport
import JSONText

/// Suggests a mapping of lists without a dedicated reader, from the names and contents of their columns. As a starting point, it lists all
/// columns with what is known about them.
struct TableSuggestion {
    private let tables: SourceTables

    init(_ tables: SourceTables) { self.tables = tables }

    func mapping() -> CoreDataMapping {
        let entries = best("Entry") { table in dateColumn(table) != nil }
        let habits = best("Habit") { table in table.name != entries?.name && nameColumn(table) != nil }
        return CoreDataMapping(
            entities: tables.tables.map { table in
                var entity = CoreDataMapping.Entity(source: table.name, target: nil)
                for column in table.columns { entity.attributes[column] = .some(nil) }
                entity.about = about(table)
                if table.name == habits?.name { fillHabits(table, &entity) }
                if table.name == entries?.name { fillEntries(table, habits, &entity) }
                return entity
            }
        )
    }

    /// The list that best fits an entity: the one with the most similar name, then the one with the most rows.
    private func best(_ target: String, _ isPossible: (SourceTables.Table) -> Bool) -> SourceTables.Table? {
        let possible = tables.tables.filter { !$0.rows.isEmpty && isPossible($0) }
        let last = { (table: SourceTables.Table) in table.name.split(separator: ".").last.map(String.init) ?? table.name
        }
        return possible.max { left, right in
            (MappingWords.nearness(last(left), target), left.rows.count)
                < (MappingWords.nearness(last(right), target), right.rows.count)
        }
    }

    // MARK: Habits and entries

    private func fillHabits(_ table: SourceTables.Table, _ entity: inout CoreDataMapping.Entity) {
        entity.target = "Habit"
        let name = nameColumn(table) ?? ""
        take(name, "name", "the text that is called most like a name", &entity)
        entity.key = table.columns.first { ["id", "_id", "uuid", "key", "identifier"].contains($0.lowercased()) }
        for attribute in ["createdAt", "isArchived", "category", "unit", "target"] {
            guard let column = nearest(attribute, table, besides: entity) else { continue }
            if attribute == "createdAt", form(table, column) == nil { continue }
            take(column, attribute, "called like it", &entity)
            if attribute == "createdAt" { entity.dates = form(table, column)?.name }
        }
    }

    private func fillEntries(
        _ table: SourceTables.Table,
        _ habits: SourceTables.Table?,
        _ entity: inout CoreDataMapping.Entity
    ) {
        guard let date = dateColumn(table) else { return }
        entity.target = "Entry"
        take(date, "date", "its values are days or instants", &entity)
        entity.dates = form(table, date)?.name
        if let link = linkColumn(table, habits, date) {
            entity.attributes[link] = nil
            entity.relationships[link] = .some("habit")
            entity.about[link, default: ""] += "; becomes habit: it is called like a habit, or leads to one"
        } else if habits == nil {
            // One column per habit.
            entity.columns = ["*"]
            for column in table.columns where column != date { entity.attributes[column] = nil }
            entity.about["columns"] =
                "each other column is a habit, and each mark in it an entry; name them to leave others out"
            return
        }
        for attribute in ["note", "value"] {
            guard let column = nearest(attribute, table, besides: entity) else { continue }
            take(column, attribute, "called like it", &entity)
        }
    }

    private func take(_ column: String, _ attribute: String, _ why: String, _ entity: inout CoreDataMapping.Entity) {
        entity.attributes[column] = .some(attribute)
        entity.about[column, default: ""] += "; becomes \(attribute): \(why)"
    }

    private func nearest(_ attribute: String, _ table: SourceTables.Table, besides entity: CoreDataMapping.Entity)
        -> String?
    {
        let free = table.columns.filter { entity.attributes[$0] == .some(nil) && $0 != entity.key }
        let near = free.map { ($0, MappingWords.nearness($0, attribute)) }.filter { $0.1 > 0 }
        return near.max { $0.1 < $1.1 }?.0
    }

    private func nameColumn(_ table: SourceTables.Table) -> String? {
        let texts = table.columns.filter { column in
            let values = table.rows.compactMap { $0.fields[column] }.filter { !$0.isEmpty }
            return !values.isEmpty && values.allSatisfy { $0.text != nil } && form(table, column) == nil
        }
        let named = texts.filter { MappingWords.nearness($0, "name") > 0 }
        return named.max { MappingWords.nearness($0, "name") < MappingWords.nearness($1, "name") } ?? texts.first
    }

    private func linkColumn(_ table: SourceTables.Table, _ habits: SourceTables.Table?, _ date: String) -> String? {
        let others = table.columns.filter { $0 != date }
        let called = others.first { column in
            let word = column.lowercased().replacingOccurrences(of: "_", with: "")
            return ["habit", "habitid", "habitname", "habituuid", "task", "taskid", "activity"].contains(word)
        }
        if let called { return called }
        // Entries nested in habits need no column.
        guard let habits, table.rows.first?.ancestors.isEmpty ?? true else { return nil }
        return others.first { column in
            let word = column.lowercased()
            return word.hasPrefix(habits.name.lowercased().prefix(4)) && word.hasSuffix("id")
        }
    }

    // MARK: Dates

    private func dateColumn(_ table: SourceTables.Table) -> String? {
        let possible = table.columns.filter { form(table, $0) != nil }
        return possible.max { MappingWords.nearness($0, "date") < MappingWords.nearness($1, "date") }
    }

    /// The date format of most values in a column. Numbers are judged by their size, and only if the name suggests a time.
    private func form(_ table: SourceTables.Table, _ column: String) -> (name: String?, words: String)? {
        let values = table.rows.compactMap { $0.fields[column] }.filter { !$0.isEmpty }
        guard !values.isEmpty else { return nil }
        // A few typing errors do not matter; such values are kept next to the store.
        func mostAre(_ form: String?) -> Bool {
            5 * values.count { TableValue.moment($0, form) != nil } >= 4 * values.count
        }
        if mostAre(nil) { return (nil, "dates as 2026-01-31") }
        for form in ["dayMonthYear", "monthDayYear"] where mostAre(form) { return (form, "dates, \(form)") }
        let word = column.lowercased()
        guard ["date", "time", "day", "created", "at"].contains(where: { word.contains($0) }) else { return nil }
        let numbers = values.compactMap { $0.number }
        guard numbers.count == values.count, let least = numbers.min(), let most = numbers.max() else { return nil }
        let forms: [(String, ClosedRange<Double>)] = [
            ("daysSince1970", 10_000...40_000), ("secondsSince2001", 100_000_000...946_000_000),
            ("secondsSince1970", 946_684_800...4_102_444_800),
            ("millisecondsSince1970", 946_684_800_000...4_102_444_800_000),
        ]
        return forms.first { $0.1.contains(least) && $0.1.contains(most) }.map { ($0.0, $0.0) }
    }

    // MARK: Descriptions

    private func about(_ table: SourceTables.Table) -> [String: String] {
        var result: [String: String] = [:]
        for column in table.columns {
            let values = table.rows.compactMap { $0.fields[column] }.filter { !$0.isEmpty }
            var kinds: [String] = []
            for value in values where !kinds.contains(Self.kind(value)) { kinds.append(Self.kind(value)) }
            let kind = form(table, column)?.words ?? (kinds.isEmpty ? "nothing" : kinds.joined(separator: " and "))
            result[column] = "\(kind), in \(values.count) of \(table.rows.count) rows"
        }
        result["target"] =
            "Habit (needs name; has createdAt, isArchived, category, unit, target, timesPerPeriod, periodDays), "
            + "Entry (needs date; has value, note, and the relationship habit), or null: kept next to the store"
        return result
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

extension CoreDataMapping {
    /// Suggests a mapping of a database, CSV or JSON file without a dedicated reader, from the names and contents of its columns.
    ///
    /// - Throws: ``HabitStoreError/Code/unknownFormat`` if the file has no list of records.
    public static func suggested(forTablesAt path: String) throws -> CoreDataMapping {
        TableSuggestion(try SourceTables(path: path)).mapping()
    }
}
