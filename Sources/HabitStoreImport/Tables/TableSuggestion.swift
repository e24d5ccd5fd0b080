import Foundation
@_spi(Engines) import HabitStore
import JSONText

/// Writes a mapping that states what a file's names, declared keys and values leave no doubt about, each with its reason. Everything else is
/// an open question, which `map check` and an import refuse to pass.
struct TableSuggestion {
    private let file: TableFile
    private let schema: Schema
    /// The entities that tables are called like, by the tables' names.
    private let entities: [String: Int]

    init(_ file: TableFile, _ schema: Schema) {
        (self.file, self.schema) = (file, schema)
        var named: [String: Int] = [:]
        for table in file.tables {
            let alike = schema.entities.indices.filter { Self.isAlike(table.name, schema.entities[$0].name) }
            if alike.count == 1 { named[table.name] = alike[0] }
        }
        // Two tables that are called like one entity leave in doubt which is meant.
        entities = named.filter { pair in named.values.count { $0 == pair.value } == 1 }
    }

    func mapping() throws -> TableMapping {
        let found = file.tables.compactMap { table in linkTable(table).map { (table.name, $0) } }
        // Of two tables between the same entities, names do not say which holds the links.
        let joins = found.filter { join in
            found.count { $0.1.owner == join.1.owner && $0.1.relationship == join.1.relationship } == 1
        }
        let joined = Set(joins.map(\.0))
        var tables: [TableMapping.Table] = []
        for table in file.tables where !joined.contains(table.name) {
            tables.append(try suggest(table, joins.map(\.1).filter { $0.owner == table.name }))
        }
        let name = (file.path as NSString).lastPathComponent
        return TableMapping(namespace: (name as NSString).deletingPathExtension, tables: tables)
    }

    // MARK: Tables

    /// What libraries and systems keep for themselves.
    private static let bookkeeping: [String: String] = [
        "grdb_migrations": "GRDB's list of migrations", "room_master_table": "Room's identity of the schema",
        "android_metadata": "Android's locale", "schema_migrations": "a list of migrations",
        "__drizzle_migrations": "a list of migrations",
        "sqlitedata_icloud_metadata": "SQLiteData's state of synchronization",
    ]

    private func suggest(_ table: TableFile.Table, _ joins: [Join]) throws -> TableMapping.Table {
        if let reason = Self.bookkeeping[table.name.lowercased()] {
            var result = TableMapping.Table(table.name, entity: nil)
            result.about["table"] = reason
            return result
        }
        let count = try file.connection.int("SELECT count(*) FROM \(SourceConnection.quoted(table.name))") ?? 0
        guard let index = entities[table.name] else {
            var result = TableMapping.Table(table.name, entity: nil)
            let names = schema.entities.map(\.name).joined(separator: ", ")
            let columns = table.columns.map(\.name).joined(separator: ", ")
            result.questions = [
                "which entity do its \(count) rows become (\(names)), or are they left out? It has \(columns)"
            ]
            return result
        }
        let entity = schema.entities[index]
        var result = TableMapping.Table(table.name, entity: entity.name)
        result.about["table"] = "\(count) rows; it is called like \(entity.name)"
        var open = table.columns.filter { !$0.isGenerated }.map(\.name)
        try suggestKey(table, &result, &open)
        for join in joins {
            result.links[join.relationship] = join.links
            result.about[join.relationship] = "\(join.links.table) refers to both tables by declared keys"
        }
        var missing = entity.attributes.indices.dropFirst().filter { entity.attributes[$0].kind != .links }
        try suggestReferences(table, entity, &result, &open, &missing)
        suggestIdentifiers(table, entity, &result, &open, &missing)
        try suggestAttributes(table, entity, &result, &open, &missing)
        let free = missing.map { entity.attributes[$0].name }
        for name in open {
            result.questions.append(
                "\(name) (\(try contents(name, table))) is called like no attribute of \(entity.name): "
                    + (free.isEmpty
                        ? "is it excluded?" : "does it become \(free.joined(separator: " or ")), or is it excluded?")
            )
        }
        for position in missing where !entity.attributes[position].isOptional {
            let attribute = entity.attributes[position]
            // An open column may hold it, under another name.
            if let constant = attribute.defaultValue.flatMap({ Self.constant($0) }), open.isEmpty {
                result.attributes[attribute.name] = .constant(constant)
                result.about[attribute.name] = "the schema's default"
            } else {
                result.questions.append(
                    "\(entity.name).\(attribute.name), \(attribute.kind.words), needs a value: which column, or which constant?"
                )
            }
        }
        return result
    }

    private func suggestKey(_ table: TableFile.Table, _ result: inout TableMapping.Table, _ open: inout [String]) throws
    {
        let key =
            table.primaryKey.isEmpty
            ? table.uniqueKeys.first { $0.allSatisfy { table.column($0)?.isNotNull == true } } ?? [] : table.primaryKey
        guard !key.isEmpty else {
            result.questions.append("which columns identify a row? The table declares no key")
            return
        }
        result.key = key
        result.about["key"] = table.primaryKey.isEmpty ? "declared as unique, and never NULL" : "the primary key"
        open.removeAll { key.contains($0) }
        guard key.count == 1 else { return }
        let forms = try fittingForms(key[0], table, .uuid)
        if forms.count == 1 {
            result.keyForm = forms[0]
            result.about["key", default: ""] += "; all of its values are UUIDs"
        }
    }

    // MARK: Relationships

    /// A table of links between two others.
    private struct Join {
        let owner: String
        let relationship: String
        let links: TableMapping.Links
    }

    /// A table with two declared foreign keys, to tables between whose entities there is one many-to-many relationship.
    private func linkTable(_ table: TableFile.Table) -> Join? {
        guard entities[table.name] == nil, table.foreignKeys.count == 2,
            Set(table.foreignKeys.flatMap(\.columns)).count == table.columns.count
        else { return nil }
        var found: [Join] = []
        for (here, there) in [(0, 1), (1, 0)] {
            let (owner, other) = (table.foreignKeys[here], table.foreignKeys[there])
            guard leadsToKey(owner), leadsToKey(other), let ownerTable = file.table(owner.table),
                let otherTable = file.table(other.table),
                let entity = entities[ownerTable.name], let destination = entities[otherTable.name]
            else { return nil }
            for relationship in schema.entities[entity].relationships
            where relationship.destination == schema.entities[destination].name {
                guard case .manyToManyOwner = relationship.kind else { continue }
                let links = TableMapping.Links(
                    table: table.name,
                    here: owner.columns,
                    there: other.columns,
                    excluded: [],
                    leadsTo: nil
                )
                found.append(Join(owner: ownerTable.name, relationship: relationship.name, links: links))
            }
        }
        return found.count == 1 ? found[0] : nil
    }

    private func suggestReferences(
        _ table: TableFile.Table,
        _ entity: EntityDescription,
        _ result: inout TableMapping.Table,
        _ open: inout [String],
        _ missing: inout [Int]
    ) throws {
        for relationship in entity.relationships {
            guard case .toOne(let stored) = relationship.kind, let position = entity.position(of: stored) else {
                continue
            }
            let declared = table.foreignKeys.filter { key in
                guard leadsToKey(key), let other = file.table(key.table), let index = entities[other.name] else {
                    return false
                }
                return schema.entities[index].name == relationship.destination && key.columns.allSatisfy(open.contains)
            }
            let called = declared.filter {
                $0.columns.count == 1 && Self.isReference($0.columns[0], relationship.name, stored)
            }
            let others = entity.relationships.count { other in
                guard case .toOne = other.kind else { return false }
                return other.destination == relationship.destination
            }
            let only = called.isEmpty && declared.count == 1 && others == 1 ? declared : called
            if only.count == 1 {
                result.relationships[relationship.name] = TableMapping.Reference(columns: only[0].columns, table: nil)
                result.about[relationship.name] = "a declared key of \(only[0].table)"
                open.removeAll { only[0].columns.contains($0) }
                missing.removeAll { $0 == position }
                continue
            }
            guard
                let other = file.tables.first(where: {
                    entities[$0.name].map { schema.entities[$0].name } == relationship.destination
                }),
                other.primaryKey.count == 1,
                let column = open.first(where: { name in
                    Self.isReference(name, relationship.name, stored)
                        && Self.letters(name) != Self.letters(relationship.name)
                        && !table.foreignKeys.contains { $0.columns.contains { $0.sqlName == name.sqlName } }
                }),
                try leads(column, table, to: other)
            else { continue }
            result.relationships[relationship.name] = TableMapping.Reference(columns: [column], table: nil)
            result.about[relationship.name] = "called like it, and each of its values is a key of \(other.name)"
            open.removeAll { $0 == column }
            missing.removeAll { $0 == position }
        }
    }

    /// An attribute may hold another record's identifier without a declared relationship.
    private func suggestIdentifiers(
        _ table: TableFile.Table,
        _ entity: EntityDescription,
        _ result: inout TableMapping.Table,
        _ open: inout [String],
        _ missing: inout [Int]
    ) {
        for position in missing where entity.attributes[position].kind == .uuid {
            let attribute = entity.attributes[position]
            let declared = table.foreignKeys.filter { key in
                leadsToKey(key) && key.columns.count == 1 && open.contains(key.columns[0])
                    && entities[file.table(key.table)?.name ?? ""] != nil
                    && Self.letters(key.columns[0]) == Self.letters(attribute.name)
            }
            guard declared.count == 1 else { continue }
            result.relationships[attribute.name] = TableMapping.Reference(
                columns: declared[0].columns,
                table: declared[0].table
            )
            result.about[attribute.name] = "a declared key of \(declared[0].table)"
            open.removeAll { declared[0].columns.contains($0) }
            missing.removeAll { $0 == position }
        }
    }

    /// Whether a declared foreign key leads to the columns that identify the other table's rows.
    private func leadsToKey(_ key: TableFile.ForeignKey) -> Bool {
        let primary = file.table(key.table)?.primaryKey ?? []
        return !primary.isEmpty
            && (key.destinations.isEmpty || key.destinations.map(\.sqlName) == primary.map(\.sqlName))
    }

    /// Whether a column has values, and each is a key of another table.
    private func leads(_ column: String, _ table: TableFile.Table, to other: TableFile.Table) throws -> Bool {
        let (name, key) = (SourceConnection.quoted(column), SourceConnection.quoted(other.primaryKey[0]))
        let counts = try file.connection.prepare(
            "SELECT count(\(name)), total(\(name) IN (SELECT \(key) FROM \(SourceConnection.quoted(other.name)))) "
                + "FROM \(SourceConnection.quoted(table.name))"
        )
        guard try counts.step(), let all = counts.optionalInt(0), let found = counts.optionalDouble(1) else {
            return false
        }
        return all > 0 && Double(all) == found
    }

    // MARK: Attributes

    private func suggestAttributes(
        _ table: TableFile.Table,
        _ entity: EntityDescription,
        _ result: inout TableMapping.Table,
        _ open: inout [String],
        _ missing: inout [Int]
    ) throws {
        for position in missing {
            let attribute = entity.attributes[position]
            let called = open.filter { Self.letters($0) == Self.letters(attribute.name) }
            guard called.count == 1 else { continue }
            open.removeAll { $0 == called[0] }
            missing.removeAll { $0 == position }
            let forms = try fittingForms(called[0], table, attribute.kind)
            if forms.count == 1 {
                let isPlain = forms[0] == StoredForm.plain(attribute.kind)
                result.attributes[attribute.name] = .column(called[0], form: isPlain ? nil : forms[0])
                result.about[attribute.name] = "called like it; \(try contents(called[0], table))"
                continue
            }
            result.questions.append(
                "\(called[0]) is called like \(entity.name).\(attribute.name), \(attribute.kind.words), and holds "
                    + "\(try contents(called[0], table)): "
                    + (forms.isEmpty
                        ? "which form has it?"
                        : "is its form \(forms.map { JSON.quoted($0.name) }.joined(separator: " or "))?")
            )
        }
    }

    /// The forms that all values in a column have. Without values, only the form that needs no doubt.
    private func fittingForms(_ column: String, _ table: TableFile.Table, _ kind: AttributeKind) throws -> [StoredForm]
    {
        let name = SourceConnection.quoted(column)
        let values = try file.connection.prepare(
            "SELECT \(name) FROM \(SourceConnection.quoted(table.name)) WHERE \(name) NOT NULL"
        )
        var forms = Self.candidates(kind)
        var isFilled = false
        while try values.step() {
            isFilled = true
            let stored = values.value(0)
            forms.removeAll { !Self.fits(stored, $0, kind) }
            if forms.isEmpty { return [] }
        }
        return isFilled ? forms : StoredForm.plain(kind).map { [$0] } ?? []
    }

    /// Counts of less than a second since 2001, which no library stores, would make a doubt of most numbers.
    private static func candidates(_ kind: AttributeKind) -> [StoredForm] {
        StoredForm.names.compactMap { StoredForm($0) }.filter { form in
            if case .count(let unit, .y2001) = form, unit.perSecond > 1 { return false }
            return form.kinds.contains(kind)
        }
    }

    /// The years in which an app's dates lie: a number that is a date in other years is most likely another number.
    private static let plausible = Date(timeIntervalSince1970: 631_152_000)...Date(timeIntervalSinceNow: 10 * year)
    private static let year = 366 * 86_400.0

    /// A count has to be more than a year: a small number is most likely no date.
    private static func isPlausible(_ date: Date, _ form: StoredForm) -> Bool {
        if case .count(_, .y2001) = form, date.timeIntervalSinceReferenceDate < year { return false }
        return plausible.contains(date)
    }

    private static func fits(_ stored: SourceValue, _ form: StoredForm, _ kind: AttributeKind) -> Bool {
        guard let value = form.value(stored, as: kind) else { return false }
        switch (form, value) {
        case (.count, .date(let date)), (.julianDays, .date(let date)): return isPlausible(date, form)
        case (.uuid, _): return form.stored(value) == stored
        case (.minorUnits, _): return false
        default: return true
        }
    }

    private func contents(_ column: String, _ table: TableFile.Table) throws -> String {
        let name = SourceConnection.quoted(column)
        let kinds = try file.connection.texts(
            "SELECT DISTINCT typeof(\(name)) FROM \(SourceConnection.quoted(table.name)) WHERE \(name) NOT NULL ORDER BY 1"
        )
        let words = ["integer": "whole numbers", "real": "numbers", "text": "texts", "blob": "bytes"]
        let samples = try file.connection.prepare(
            "SELECT DISTINCT \(name) FROM \(SourceConnection.quoted(table.name)) WHERE \(name) NOT NULL LIMIT 4"
        )
        var few: [String] = []
        var hasLongTexts = false
        while try samples.step() {
            few.append(samples.value(0).summary)
            if case .text(let text) = samples.value(0) { hasLongTexts = hasLongTexts || text.utf8.count > 5 }
        }
        guard !kinds.isEmpty else { return "no values" }
        let kind = kinds.map { words[$0] ?? $0 }.joined(separator: " and ")
        // Codes are shown, which answer most questions; a person's texts are not.
        let areCodes = few.count <= 3 && few.allSatisfy { $0.count <= 12 } && !hasLongTexts
        return areCodes ? "\(kind): \(few.joined(separator: ", "))" : kind
    }

    private static func constant(_ value: Value) -> MappedConstant? {
        switch value {
        case .bool(let flag): .bool(flag)
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        case .string(let text): .string(text)
        default: nil
        }
    }

    // MARK: Names

    private static func letters(_ name: String) -> String { name.lowercased().filter { $0.isLetter || $0.isNumber } }

    /// Whether a table is called like an entity, in the singular or the plural.
    private static func isAlike(_ table: String, _ entity: String) -> Bool {
        let (table, entity) = (letters(table), letters(entity))
        guard table != entity else { return true }
        return table == entity + "s" || table == entity + "es"
            || (entity.hasSuffix("y") && table == entity.dropLast() + "ies")
    }

    private static func isReference(_ column: String, _ relationship: String, _ attribute: String) -> Bool {
        let (column, name) = (letters(column), letters(relationship))
        return column == letters(attribute) || column == name
            || ["id", "key", "uuid", "pk"].contains { column == name + $0 }
    }
}

extension TableMapping {
    /// A mapping of a file to a schema that states only what is certain.
    ///
    /// - Throws: errors of reading the file.
    public static func suggested(for file: TableFile, schema: Schema) throws -> TableMapping {
        try TableSuggestion(file, schema).mapping()
    }
}
