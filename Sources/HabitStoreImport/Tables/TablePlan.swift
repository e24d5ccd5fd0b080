import Foundation
@_spi(Engines) import HabitStore
import JSONText

/// A mapping that fits a file and a schema: which rows become which records, and from which columns.
package struct TablePlan: Sendable {
    /// A column of the rows that are read.
    package typealias Place = Int

    /// Where an attribute's value comes from.
    package enum Field: Sendable {
        case missing
        /// The place is nil for an identifier that the key says.
        case identifier(Place?)
        case constant(Value)
        case column(Place, StoredForm, nulls: [MappedConstant])
        case cases(Place, [String: Value], nulls: [MappedConstant])
        case reference([Place], to: String)
        case links(LinkTable)
    }

    /// The join table of a many-to-many relationship.
    package struct LinkTable: Sendable {
        package let table: String
        package let here: [String]
        package let there: [String]
        /// The table that `there` leads to.
        package let leadsTo: String
    }

    /// The records that some rows of a table become.
    package struct Part: Sendable {
        /// The place of its mapping.
        package let index: Int
        /// The index of the entity in the schema.
        package let entity: Int
        /// By the entity's attributes.
        package let fields: [Field]
        /// The positions of the attributes by which a row is the same record as another one; empty if only the identifier says so.
        package let naturalKey: [Int]
        package let conditions: [(place: Place, condition: TableMapping.Condition)]
    }

    /// A table whose rows are read.
    package struct Source: Sendable {
        package let table: TableFile.Table
        /// The columns that are read, in the order of their places.
        package let columns: [String]
        /// Their declarations, and their affinities.
        package let declared: [TableFile.Column?]
        package let affinities: [TableFile.Affinity]
        package let key: [Place]
        /// The column of the identifier; nil if identifiers are derived from keys.
        package let identity: (place: Place, form: StoredForm)?
        package let parts: [Part]
        /// The conditions of the mappings that leave rows out.
        package let leftOut: [[(place: Place, condition: TableMapping.Condition)]]
        /// The first parts of the names of derived identifiers.
        let keyName: DerivedID.Name

        init(
            namespace: String,
            table: TableFile.Table,
            columns: [String],
            key: [Place],
            identity: (place: Place, form: StoredForm)?,
            parts: [Part],
            leftOut: [[(place: Place, condition: TableMapping.Condition)]]
        ) {
            (self.table, self.columns, self.key, self.identity) = (table, columns, key, identity)
            (self.parts, self.leftOut) = (parts, leftOut)
            declared = columns.map { table.column($0) }
            affinities = declared.map { $0?.affinity ?? .none }
            keyName = DerivedID.Name(["habitstore table", namespace, table.name.sqlName.text])
        }
    }

    package let schema: Schema
    package let sources: [Source]

    package init(schema: Schema, sources: [Source] = []) { (self.schema, self.sources) = (schema, sources) }

    /// The table of a name, in any case.
    package func source(_ table: String) -> Source? { sources.first { $0.table.name.sqlName == table.sqlName } }

    /// The identifier of a row; nil if it has none.
    package func identifier(ofRow row: [SourceValue], _ source: Source) -> UUID? {
        guard let (place, form) = source.identity else { return identifier(source.key.map { row[$0] }, of: source) }
        guard case .uuid(let id)? = form.value(row[place], as: .uuid) else { return nil }
        return id
    }

    /// The identifier that a key says, by which a row that is not there is called: the key itself if it is the identifier, else the first 128 bits of
    /// SHA-256 over `habitstore table`, the namespace, the table's name in small letters, and the parts of the key with a letter for their storage
    /// class (``DerivedID``).
    ///
    /// - Returns: nil for a key with a part that is NULL, a fraction or no text, or that does not have the form.
    package func identifier(_ key: [SourceValue], of source: Source) -> UUID? {
        if let form = source.keyForm {
            guard key.count == 1, case .uuid(let id)? = form.value(key[0], as: .uuid) else { return nil }
            return id
        }
        var name = source.keyName
        for value in key {
            switch value {
            case .int(let number): name.append("i\(number)")
            case .text(let text): name.append("t\(text)")
            case .blob(let bytes): name.append("b\(bytes.base64EncodedString())")
            case .null, .real, .malformedText: return nil
            }
        }
        return name.identifier
    }
}

extension TablePlan.Part {
    /// Whether its records have the links of a table.
    func hasLinks(of table: TablePlan.LinkTable) -> Bool {
        fields.contains { field in
            guard case .links(let own) = field else { return false }
            return own.name == table.name
        }
    }
}

extension TablePlan.LinkTable {
    /// Tells it from other uses of the table.
    var name: [SQLName] { ([table] + here + [""] + there).map(\.sqlName) }
}

extension TablePlan.Source {
    /// The form of a key that is the identifier itself; nil if it is not.
    package var keyForm: StoredForm? { identity.flatMap { key == [$0.place] ? $0.form : nil } }

    /// The tables of links of its records.
    var linkTables: [TablePlan.LinkTable] {
        var tables: [[SQLName]: TablePlan.LinkTable] = [:]
        for part in parts { for case .links(let links) in part.fields { tables[links.name] = links } }
        return tables.values.sorted { $0.table < $1.table }
    }
}

extension TablePlan.Field {
    /// The places of the columns that a value is made of.
    var places: [TablePlan.Place] {
        switch self {
        case .column(let place, _, _), .cases(let place, _, _): [place]
        case .reference(let places, _): places
        case .identifier(let place): place.map { [$0] } ?? []
        case .missing, .constant, .links: []
        }
    }
}

extension TablePlan.Source {
    /// Whether a record says the key of its row: by its identifier, spelled as in the row, or by attributes.
    func says(_ key: [SourceValue], by id: UUID, _ part: TablePlan.Part) -> Bool {
        if let keyForm { return keyForm.stored(.uuid(id)) == key[0] }
        return self.key.allSatisfy { place in
            part.fields.contains { if case .column(place, _, _) = $0 { true } else { false } }
        }
    }

    /// The part that a row belongs to; nil if it is left out. More than one, or none, is a mistake of the mapping.
    package func parts(of row: [SourceValue]) -> (parts: [TablePlan.Part], isLeftOut: Bool) {
        (parts.filter { Self.holds($0.conditions, row) }, leftOut.contains { Self.holds($0, row) })
    }

    private static func holds(_ conditions: [(place: Int, condition: TableMapping.Condition)], _ row: [SourceValue])
        -> Bool
    {
        conditions.allSatisfy { place, condition in
            switch condition {
            case .oneOf(let values): values.contains { row[place].matches($0) }
            case .noneOf(let values): !values.contains { row[place].matches($0) }
            }
        }
    }
}

/// Brings a mapping, a file and a schema together, and finds what does not fit.
package struct TablePlanner {
    private let mapping: TableMapping
    private let file: TableFile
    private let schema: Schema
    package private(set) var findings: [MappingFinding] = []

    package init(_ mapping: TableMapping, _ file: TableFile, _ schema: Schema) {
        (self.mapping, self.file, self.schema) = (mapping, file, schema)
    }

    /// The plan of a file that fitted the mapping before.
    ///
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` if a mapped table no longer does.
    package static func plan(_ mapping: TableMapping, _ file: TableFile, _ schema: Schema) throws -> TablePlan {
        var planner = TablePlanner(mapping, file, schema)
        let plan = planner.plan()
        let findings = planner.findings.filter { !$0.isAboutRest }
        guard findings.isEmpty else {
            throw HabitStoreError(
                .schemaMismatch,
                "the tables no longer fit the mapping: \(findings.map(\.message).joined(separator: "; "))",
                at: .init(path: file.path)
            )
        }
        return plan
    }

    /// The plan; it is complete only if there are no findings.
    package mutating func plan() -> TablePlan {
        for (index, table) in mapping.tables.enumerated() {
            for question in table.questions {
                find(index, "questions", "\(table.table): an open question: \(question)")
            }
            if file.table(table.table) == nil {
                let left = file.leftAlone.first { $0.name.sqlName == table.table.sqlName }
                let known = NearMiss.question(table.table, among: file.tables.map(\.name))
                if left == nil || table.entity != nil {
                    find(
                        index,
                        "table",
                        "the file has no table \(JSON.quoted(table.table))\(left.map { ": \($0.reason)" } ?? known)",
                        isAboutRest: table.entity == nil
                    )
                }
            }
        }
        var sources: [TablePlan.Source] = []
        for table in file.tables {
            let mapped = mapping.tables.enumerated().filter { $0.element.table.sqlName == table.name.sqlName }
            if let source = source(table, mapped) { sources.append(source) }
        }
        accountForAll()
        return TablePlan(schema: schema, sources: sources)
    }

    // MARK: Tables

    private mutating func source(
        _ table: TableFile.Table,
        _ mapped: [(offset: Int, element: TableMapping.Table)]
    ) -> TablePlan.Source? {
        guard let first = mapped.first(where: { $0.element.entity != nil }) else { return nil }
        var columns: [String] = []
        let key = first.element.key.isEmpty ? table.primaryKey : first.element.key
        if key.isEmpty {
            find(
                first.offset,
                "table",
                "\(table.name) has no primary key: name the columns that identify a row as its \"key\""
            )
        }
        for name in key { _ = place(name, table, first.offset, "key", &columns) }
        if Set(key.map(\.sqlName)).count != key.count { find(first.offset, "key", "a column is in the key twice") }
        var identity: (place: Int, form: StoredForm)?
        if let form = first.element.keyForm {
            if key.count != 1 || !form.kinds.contains(.uuid) {
                find(first.offset, "key", "a key's form is one of a UUID, and of one column")
            }
            identity = (0, form)
        }
        if let (column, form) = first.element.identifier.map({ ($0.column, $0.form) }) {
            if identity != nil {
                find(first.offset, "identifier", "\(table.name) has an identifier already: its key, which has a form")
            }
            if key.map(\.sqlName) == [column.sqlName] {
                find(first.offset, "identifier", "\(column) is the key: give the key a form instead")
            }
            if !form.kinds.contains(.uuid) { find(first.offset, "identifier", "an identifier's form is one of a UUID") }
            if let place = place(column, table, first.offset, "identifier", &columns) { identity = (place, form) }
        }
        var parts: [TablePlan.Part] = []
        var leftOut: [[(place: Int, condition: TableMapping.Condition)]] = []
        for (index, element) in mapped {
            var conditions: [(place: Int, condition: TableMapping.Condition)] = []
            for (name, condition) in element.rows.sorted(by: { $0.key < $1.key }) {
                if let place = place(name, table, index, "rows.\(name)", &columns) {
                    conditions.append((place, condition))
                }
            }
            guard let name = element.entity else {
                if element.rows.isEmpty {
                    find(index, "table", "\(table.name) is both left out and mapped: say which \"rows\" are left out")
                }
                leftOut.append(conditions)
                continue
            }
            if !element.key.isEmpty, element.key != key || element.keyForm != first.element.keyForm {
                find(index, "key", "\(table.name) has another key in another mapping of it")
            }
            if element.identifier != first.element.identifier {
                find(index, "identifier", "\(table.name) has another identifier in another mapping of it")
            }
            guard let entity = schema.entities.firstIndex(where: { $0.name == name }) else {
                let question = NearMiss.question(name, among: schema.entities.map(\.name))
                let names = schema.entities.map(\.name).joined(separator: ", ")
                find(
                    index,
                    "entity",
                    "the schema has no entity \(JSON.quoted(name))\(question.isEmpty ? "; it has \(names)" : question)"
                )
                continue
            }
            let fields = fields(element, index, schema.entities[entity], table, &columns)
            parts.append(
                TablePlan.Part(
                    index: index,
                    entity: entity,
                    fields: fields,
                    naturalKey: naturalKey(element, index, schema.entities[entity]),
                    conditions: conditions
                )
            )
        }
        return TablePlan.Source(
            namespace: mapping.namespace,
            table: table,
            columns: columns,
            key: Array(key.indices),
            identity: identity,
            parts: parts,
            leftOut: leftOut
        )
    }

    private mutating func fields(
        _ mapped: TableMapping.Table,
        _ index: Int,
        _ entity: EntityDescription,
        _ table: TableFile.Table,
        _ columns: inout [String]
    ) -> [TablePlan.Field] {
        var fields = Array(repeating: TablePlan.Field.missing, count: entity.attributes.count)
        fields[0] = .identifier(
            mapped.identifier.flatMap { identifier in columns.firstIndex { $0.sqlName == identifier.column.sqlName } }
        )
        var isSet = Set([0])
        func attribute(_ name: String) -> Int? { entity.position(of: name) }
        for (name, origin) in mapped.attributes.sorted(by: { $0.key < $1.key }) {
            guard let position = attribute(name), position > 0 else {
                findUnknown(
                    index,
                    "attributes.\(name)",
                    name,
                    "attribute",
                    entity,
                    entity.attributes.dropFirst().map(\.name)
                )
                continue
            }
            isSet.insert(position)
            if let field = field(origin, entity.attributes[position], index, "attributes.\(name)", table, &columns) {
                fields[position] = field
            }
        }
        for (name, reference) in mapped.relationships.sorted(by: { $0.key < $1.key }) {
            let relationship = entity.relationship(name)
            let stored = if case .toOne(let stored)? = relationship?.kind { stored } else { name }
            guard let position = attribute(stored), position > 0, entity.attributes[position].kind == .uuid,
                relationship != nil || reference.table != nil
            else {
                findUnknown(
                    index,
                    "relationships.\(name)",
                    name,
                    "to-one relationship",
                    entity,
                    entity.relationships.map(\.name)
                        + (reference.table == nil ? [] : entity.attributes.filter { $0.kind == .uuid }.map(\.name))
                )
                continue
            }
            guard isSet.insert(position).inserted else {
                find(index, "relationships.\(name)", "\(entity.name).\(stored) is mapped twice")
                continue
            }
            let places = reference.columns.compactMap { place($0, table, index, "relationships.\(name)", &columns) }
            guard let other = destination(relationship?.destination, reference.table, index, "relationships.\(name)")
            else { continue }
            requireWidth(places.count, other, index, "relationships.\(name)")
            if reference.table == nil {
                requireDeclared(reference.columns, of: table, leadTo: other, index, "relationships.\(name)")
            }
            fields[position] = .reference(places, to: other)
        }
        for (name, links) in mapped.links.sorted(by: { $0.key < $1.key }) {
            let relationship = entity.relationship(name)
            let stored = if case .manyToManyOwner(let stored)? = relationship?.kind { stored } else { name }
            guard let position = attribute(stored), entity.attributes[position].kind == .links,
                relationship != nil || links.leadsTo != nil
            else {
                findUnknown(
                    index,
                    "links.\(name)",
                    name,
                    "many-to-many relationship that it stores",
                    entity,
                    entity.relationships.map(\.name)
                        + (links.leadsTo == nil ? [] : entity.attributes.filter { $0.kind == .links }.map(\.name))
                )
                continue
            }
            isSet.insert(position)
            guard let field = linkTable(links, relationship?.destination, mapped, index, "links.\(name)", table) else {
                continue
            }
            fields[position] = .links(field)
        }
        for (position, attribute) in entity.attributes.enumerated() where !isSet.contains(position) {
            guard !attribute.isOptional, attribute.kind != .links else { continue }
            find(
                index,
                "attributes",
                "\(entity.name).\(attribute.name) needs a value: map a column of \(table.name) to it, or give a constant"
            )
        }
        return fields
    }

    private mutating func naturalKey(_ mapped: TableMapping.Table, _ index: Int, _ entity: EntityDescription) -> [Int] {
        mapped.naturalKey.compactMap { name in
            guard let position = entity.position(of: name), position > 0 else {
                findUnknown(index, "naturalKey", name, "attribute", entity, mapped.attributes.keys.sorted())
                return nil
            }
            let kind = entity.attributes[position].kind
            guard mapped.attributes[name] != nil, ![.data, .strings, .links].contains(kind) else {
                find(
                    index,
                    "naturalKey",
                    "\(name) cannot be in a natural key: its attributes are mapped to columns, and hold one value each"
                )
                return nil
            }
            return position
        }
    }

    private mutating func field(
        _ origin: TableMapping.Origin,
        _ attribute: AttributeDescription,
        _ index: Int,
        _ path: String,
        _ table: TableFile.Table,
        _ columns: inout [String]
    ) -> TablePlan.Field? {
        switch origin {
        case .constant(let constant):
            guard let value = constant.value(of: attribute), constant.isExact(attribute.kind) else {
                let form = attribute.kind == .date ? "; write it as 2026-01-31T00:00:00Z" : ""
                find(index, path, "the constant does not fit \(attribute.name), \(attribute.kind.words)\(form)")
                return nil
            }
            return .constant(value)
        case .column(let name, let form, let nulls, let values):
            guard let place = place(name, table, index, path, &columns) else { return nil }
            if !nulls.isEmpty, !attribute.isOptional {
                find(index, path, "\(attribute.name) is never nil, so no stored value can mean nil")
            }
            guard values.isEmpty else {
                var cases: [String: Value] = [:]
                for (stored, constant) in values {
                    guard let value = constant.value(of: attribute), constant.isExact(attribute.kind) else {
                        find(
                            index,
                            path,
                            "what \(JSON.quoted(stored)) becomes does not fit \(attribute.name), \(attribute.kind.words)"
                        )
                        continue
                    }
                    cases[stored] = value
                }
                return .cases(place, cases, nulls: nulls)
            }
            guard let form = form ?? StoredForm.plain(attribute.kind) else {
                find(
                    index,
                    path,
                    "\(attribute.name) is \(attribute.kind.words), which may be stored in several forms: name its \"form\""
                        + (attribute.kind == .uuid
                            ? ", or map it under \"relationships\" if it refers to another record" : "")
                )
                return nil
            }
            guard form.kinds.contains(attribute.kind) else {
                find(index, path, "the form \(form.name) is none of \(attribute.name), \(attribute.kind.words)")
                return nil
            }
            return .column(place, form, nulls: nulls)
        }
    }

    private mutating func linkTable(
        _ links: TableMapping.Links,
        _ destination: String?,
        _ mapped: TableMapping.Table,
        _ index: Int,
        _ path: String,
        _ table: TableFile.Table
    ) -> TablePlan.LinkTable? {
        guard let join = file.table(links.table) else {
            let question = NearMiss.question(links.table, among: file.tables.map(\.name))
            find(index, path, "the file has no table \(JSON.quoted(links.table))\(question)")
            return nil
        }
        for name in links.here + links.there { requireColumn(name, join, index, path) }
        for name in links.excluded { requireColumn(name, join, index, path, isAboutRest: true) }
        let key = mapped.key.isEmpty ? table.primaryKey : mapped.key
        if links.here.count != key.count {
            find(index, path, "\(table.name) has a key of \(key.count) columns, and \"here\" has \(links.here.count)")
        }
        guard let other = self.destination(destination, links.leadsTo, index, path) else { return nil }
        requireWidth(links.there.count, other, index, path)
        requireDeclared(links.here, of: join, leadTo: table.name, index, path)
        if links.leadsTo == nil { requireDeclared(links.there, of: join, leadTo: other, index, path) }
        return TablePlan.LinkTable(table: join.name, here: links.here, there: links.there, leadsTo: other)
    }

    /// The table that becomes an entity, or of any entity where the schema declares none.
    private mutating func destination(_ entity: String?, _ named: String?, _ index: Int, _ path: String) -> String? {
        var tables: [String] = []
        for table in mapping.tables
        where table.entity != nil && !tables.contains(where: { $0.sqlName == table.table.sqlName }) {
            if entity == nil || table.entity == entity { tables.append(table.table) }
        }
        let entity = entity ?? "a record"
        if let named {
            if tables.contains(where: { $0.sqlName == named.sqlName }) { return named }
            let question = NearMiss.question(named, among: tables)
            find(index, path, "\(JSON.quoted(named)) does not become \(entity), to which this leads\(question)")
            return nil
        }
        if tables.count == 1 { return tables[0] }
        find(
            index,
            path,
            tables.isEmpty
                ? "no table becomes \(entity), to which this leads"
                : "\(tables.joined(separator: " and ")) become \(entity): name the one to which this leads"
        )
        return nil
    }

    /// Finds columns that are declared to refer to something else than the mapping says.
    private mutating func requireDeclared(
        _ columns: [String],
        of table: TableFile.Table,
        leadTo other: String,
        _ index: Int,
        _ path: String
    ) {
        func lower(_ names: [String]) -> [SQLName] { names.map(\.sqlName) }
        let mapped = mapping.tables.first { $0.table.sqlName == other.sqlName && $0.entity != nil }
        let key = mapped.map { $0.key.isEmpty ? file.table(other)?.primaryKey ?? [] : $0.key } ?? []
        let pairs = Set(zip(lower(columns), lower(key)).map { [$0, $1] })
        func destinations(_ declared: TableFile.ForeignKey) -> [String] {
            declared.destinations.isEmpty ? file.table(declared.table)?.primaryKey ?? [] : declared.destinations
        }
        let all = table.foreignKeys.filter { !Set(lower($0.columns)).isDisjoint(with: lower(columns)) }
        let agrees = all.contains { declared in
            declared.table.sqlName == other.sqlName
                && Set(zip(lower(declared.columns), lower(destinations(declared))).map { [$0, $1] }) == pairs
        }
        if let declared = all.first, !agrees {
            let destinations = destinations(declared)
            let words = (declared.table, destinations.joined(separator: ", "), key.joined(separator: ", "))
            find(
                index,
                path,
                "\(table.name).\(columns.joined(separator: ", ")) is declared to refer to \(words.0) (\(words.1)), "
                    + "and this mapping leads it to \(other) (\(words.2))"
            )
        }
    }

    private mutating func requireWidth(_ count: Int, _ table: String, _ index: Int, _ path: String) {
        guard let mapped = mapping.tables.first(where: { $0.table.sqlName == table.sqlName && $0.entity != nil }) else {
            return
        }
        let key = mapped.key.isEmpty ? file.table(table)?.primaryKey ?? [] : mapped.key
        if count != key.count { find(index, path, "\(table) has a key of \(key.count) columns, and this has \(count)") }
    }

    private mutating func place(
        _ name: String,
        _ table: TableFile.Table,
        _ index: Int,
        _ path: String,
        _ columns: inout [String]
    ) -> Int? {
        guard let column = requireColumn(name, table, index, path) else { return nil }
        if let known = columns.firstIndex(where: { $0.sqlName == column.name.sqlName }) { return known }
        columns.append(column.name)
        return columns.count - 1
    }

    @discardableResult
    private mutating func requireColumn(
        _ name: String,
        _ table: TableFile.Table,
        _ index: Int,
        _ path: String,
        isAboutRest: Bool = false
    ) -> TableFile.Column? {
        if let column = table.column(name) { return column }
        let question = NearMiss.question(name, among: table.columns.map(\.name))
        let names = table.columns.map(\.name).joined(separator: ", ")
        find(
            index,
            path,
            "\(table.name) has no column \(JSON.quoted(name))\(question.isEmpty ? "; it has \(names)" : question)",
            isAboutRest: isAboutRest
        )
        return nil
    }

    // MARK: Nothing is left out silently

    private mutating func accountForAll() {
        for table in file.tables {
            let mapped = mapping.tables.enumerated().filter { $0.element.table.sqlName == table.name.sqlName }
            let joins = mapping.tables.flatMap { $0.links.values }.filter {
                $0.table.sqlName == table.name.sqlName
            }
            if mapped.isEmpty, joins.isEmpty {
                findings.append(
                    MappingFinding(
                        message: "the table \(JSON.quoted(table.name)) is neither mapped nor left out; "
                            + "{\"table\": \(JSON.quoted(table.name)), \"entity\": null} leaves it out"
                            + (table.foreignKeys.count > 1 ? ", \"links\" of another table may name it" : ""),
                        isAboutRest: true
                    )
                )
                continue
            }
            if joins.isEmpty, mapped.allSatisfy({ $0.element.entity == nil }) { continue }
            let joined = Set(joins.flatMap { $0.here + $0.there }.map(\.sqlName))
            let notJoined = Set(joins.flatMap(\.excluded).map(\.sqlName))
            let parts = mapped.filter { $0.element.entity != nil }
            // Each mapping of a table accounts for the rows that it means.
            for (index, element) in parts {
                let excluded = element.excluded.filter {
                    requireColumn($0, table, index, "excluded", isAboutRest: true) != nil
                }
                account(
                    for: table,
                    columns(element, table).union(joined),
                    Set(excluded.map(\.sqlName)).union(notJoined),
                    index,
                    parts.count > 1 ? " in the mapping to \(element.entity ?? "")" : ""
                )
            }
            if parts.isEmpty { account(for: table, joined, notJoined, mapped.first?.offset, "") }
        }
    }

    private mutating func account(
        for table: TableFile.Table,
        _ used: Set<SQLName>,
        _ excluded: Set<SQLName>,
        _ index: Int?,
        _ place: String
    ) {
        for column in table.columns where !column.isGenerated {
            let name = column.name.sqlName
            switch (used.contains(name), excluded.contains(name)) {
            case (false, false):
                let message = "\(table.name).\(column.name) is neither mapped nor excluded\(place)"
                if let index {
                    find(index, "excluded", message, isAboutRest: true)
                } else {
                    findings.append(
                        MappingFinding(
                            message: "\(message): exclude it where the links name \(table.name)",
                            isAboutRest: true
                        )
                    )
                }
            case (true, true):
                find(index ?? 0, "excluded", "\(table.name).\(column.name) is both mapped and excluded\(place)")
            default: break
            }
        }
    }

    private func columns(_ mapped: TableMapping.Table, _ table: TableFile.Table) -> Set<SQLName> {
        guard mapped.entity != nil else { return [] }
        var names = mapped.key.isEmpty ? table.primaryKey : mapped.key
        if let identifier = mapped.identifier { names.append(identifier.column) }
        for case .column(let name, _, _, _) in mapped.attributes.values { names.append(name) }
        names += mapped.relationships.values.flatMap(\.columns)
        // The rows of any other condition differ in the column.
        for case (let name, .oneOf(let values)) in mapped.rows where values.count == 1 { names.append(name) }
        return Set(names.map { $0.sqlName })
    }

    private mutating func find(_ index: Int, _ path: String, _ message: String, isAboutRest: Bool = false) {
        var finding = mapping.places.finding(index, path, message)
        finding.isAboutRest = isAboutRest
        findings.append(finding)
    }

    private mutating func findUnknown(
        _ index: Int,
        _ path: String,
        _ name: String,
        _ what: String,
        _ entity: EntityDescription,
        _ names: [String]
    ) {
        let question = NearMiss.question(name, among: names)
        let known = question.isEmpty ? "; it has \(names.joined(separator: ", "))" : question
        find(index, path, "\(entity.name) has no \(what) \(JSON.quoted(name))\(known)")
    }
}

extension AttributeKind {
    /// The kind in a message.
    var words: String {
        switch self {
        case .bool: "a truth value"
        case .int: "a whole number"
        case .double: "a number"
        case .string: "a text"
        case .date: "a date"
        case .uuid: "an identifier"
        case .data: "bytes or a Codable value"
        case .strings: "a list of texts"
        case .links: "links"
        }
    }
}
