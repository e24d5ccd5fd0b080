import Foundation
import HabitStore
import JSONText

/// Maps the tables of another program's SQLite file to the entities of a schema: a JSON file (`schemas/table-mapping.schema.json`), which
/// `map suggest` writes and `map check` judges.
///
/// ```json
/// {"format": 2, "namespace": "ledger", "tables": [
///   {"table": "account", "entity": "Account", "key": "id",
///    "attributes": {"name": "title", "openedAt": {"column": "opened", "form": "date grdb"}, "isHidden": {"constant": false}},
///    "relationships": {"parent": "parent_id"},
///    "links": {"labels": {"table": "account_label", "here": "account_id", "there": "label_id"}},
///    "excluded": ["cached_total"]},
///   {"table": "grdb_migrations", "entity": null}]}
/// ```
/// Names on the left are the schema's, names on the right the file's. Each table and each column is mapped or excluded by name: nothing is
/// left out silently.
public struct TableMapping: Sendable, Hashable {
    /// Where an attribute's values come from.
    public enum Origin: Sendable, Hashable {
        /// - Parameters:
        ///   - form: nil for the attribute's plain form.
        ///   - nulls: stored values that mean nil, in addition to NULL.
        ///   - values: the value for each stored code of an enum, instead of a form.
        case column(String, form: StoredForm?, nulls: [MappedConstant] = [], values: [String: MappedConstant] = [:])
        case constant(MappedConstant)
    }

    /// The column of the identifier, where that is not the key.
    public struct Identifier: Sendable, Hashable {
        /// The column.
        public var column: String
        /// The form of its values, one of a UUID.
        public var form: StoredForm

        /// Names the column, and the form of its values.
        public init(column: String, form: StoredForm) { (self.column, self.form) = (column, form) }
    }

    /// The columns of a to-one relationship, in the order of the other table's key.
    public struct Reference: Sendable, Hashable {
        /// The columns of this table.
        public var columns: [String]
        /// The other table; nil if only one is mapped to the destination.
        public var table: String?

        /// Names the columns, and the table that they lead to.
        public init(columns: [String], table: String? = nil) { (self.columns, self.table) = (columns, table) }
    }

    /// The join table of a many-to-many relationship.
    public struct Links: Sendable, Hashable {
        /// The table of links.
        public var table: String
        /// Its columns with this table's key.
        public var here: [String]
        /// Its columns with the other table's key.
        public var there: [String]
        /// Its other columns, which are not mapped.
        public var excluded: [String]
        /// The other table; nil if only one is mapped to the destination.
        public var leadsTo: String?

        /// Names the table, the columns with both keys, those that are not mapped, and the table that `there` leads to.
        public init(table: String, here: [String], there: [String], excluded: [String] = [], leadsTo: String? = nil) {
            (self.table, self.here, self.there, self.excluded, self.leadsTo) = (table, here, there, excluded, leadsTo)
        }
    }

    /// The values that select rows.
    public enum Condition: Sendable, Hashable {
        case oneOf([MappedConstant])
        case noneOf([MappedConstant])
    }

    /// The mapping of a table, or of some of its rows.
    public struct Table: Sendable, Hashable {
        /// The table's name.
        public var table: String
        /// Nil if the table is left out, or there is a question about it.
        public var entity: String?
        /// The columns that identify a row.
        public var key: [String]
        /// The form of a key that is the identifier itself; nil to derive identifiers from keys, unless a column has them.
        public var keyForm: StoredForm?
        /// The column of the identifier, if it is not the key; nil if there is none.
        public var identifier: Identifier?
        /// The attributes by which a row is the same record as one that the store has already; empty if only the identifier says so.
        public var naturalKey: [String]
        /// By the entity's attributes.
        public var attributes: [String: Origin]
        /// By the entity's to-one relationships, or its attributes that hold another record's identifier.
        public var relationships: [String: Reference]
        /// By the entity's many-to-many relationships, or its attributes that hold other records' identifiers.
        public var links: [String: Links]
        /// Which rows are meant, by columns; all of the conditions must hold.
        public var rows: [String: Condition]
        /// The columns that are not mapped.
        public var excluded: [String]
        /// Open questions of a suggestion. Nothing is imported until they are answered.
        public var questions: [String]
        /// The reasons for the choices, by column; they have no effect.
        public var about: [String: String]

        /// A mapping of a table, without columns.
        public init(_ table: String, entity: String?, key: [String] = []) {
            (self.table, self.entity, self.key, keyForm, identifier) = (table, entity, key, nil, nil)
            (naturalKey, attributes, relationships, links, rows) = ([], [:], [:], [:], [:])
            (excluded, questions, about) = ([], [], [:])
        }
    }

    /// The version of the format.
    public static let format = 2
    /// The keys that a table's mapping may have.
    static let members = [
        "table", "entity", "key", "identifier", "naturalKey", "attributes", "relationships", "links", "rows",
        "excluded", "questions",
        "about",
    ]

    /// A name that derived identifiers depend on, so that two apps' row 1 are not the same record.
    public var namespace: String
    /// The mappings of the tables.
    public var tables: [Table]
    /// Where each part stands, for findings; empty if the mapping was not parsed.
    var places = MappingPlaces()

    /// Creates a mapping.
    public init(namespace: String, tables: [Table]) { (self.namespace, self.tables) = (namespace, tables) }

    /// Parses a mapping.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` with every mistake and its line, ``HabitStoreError/Code/newerVersion`` for a newer
    ///   format.
    public init(parsing data: Data, path: String? = nil) throws {
        var reader = MappingReader(Array(data), path)
        self = try reader.mapping()
    }

    /// Parses the mapping in a file.
    ///
    /// - Throws: the errors of ``init(parsing:path:)``, and ``HabitStoreError/Code/inputOutput`` if the file cannot be read.
    public init(path: String) throws { try self.init(parsing: Data(WholeFile.read(path).bytes), path: path) }

    /// Whether both say the same, wherever it stands in their files.
    public static func == (left: Self, right: Self) -> Bool {
        left.namespace == right.namespace && left.tables == right.tables
    }

    /// Hashes what the mapping says.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(namespace)
        hasher.combine(tables)
    }

    /// The mapping as JSON, with sorted keys.
    public func json() throws -> String {
        let document: JSON = .object([
            "format": .int(Int64(Self.format)), "namespace": .string(namespace), "tables": .array(tables.map(\.json)),
        ])
        return try JSON.encoded(document, [.withoutEscapingSlashes, .prettyPrinted]) + "\n"
    }
}

extension TableMapping.Table {
    fileprivate var json: JSON {
        var members: [String: JSON] = ["table": .string(table)]
        // Who only deletes the question has not answered it.
        if entity != nil || questions.isEmpty { members["entity"] = entity.map { .string($0) } ?? .null }
        if let keyForm {
            members["key"] = .object(["column": Self.list(key), "form": .string(keyForm.name)])
        } else if !key.isEmpty {
            members["key"] = Self.list(key)
        }
        if let identifier {
            members["identifier"] = .object([
                "column": .string(identifier.column), "form": .string(identifier.form.name),
            ])
        }
        if !naturalKey.isEmpty { members["naturalKey"] = Self.list(naturalKey) }
        func add(_ name: String, _ parts: [String: JSON]) { if !parts.isEmpty { members[name] = .object(parts) } }
        add("attributes", attributes.mapValues(\.json))
        add(
            "relationships",
            relationships.mapValues { reference in
                guard let table = reference.table else { return Self.list(reference.columns) }
                return .object(["columns": Self.list(reference.columns), "table": .string(table)])
            }
        )
        add(
            "links",
            links.mapValues { links in
                var parts: [String: JSON] = [
                    "table": .string(links.table), "here": Self.list(links.here), "there": Self.list(links.there),
                ]
                if !links.excluded.isEmpty { parts["excluded"] = .array(links.excluded.map { .string($0) }) }
                if let table = links.leadsTo { parts["leadsTo"] = .string(table) }
                return .object(parts)
            }
        )
        add(
            "rows",
            rows.mapValues { condition in
                switch condition {
                case .oneOf(let values): .array(values.map(\.json))
                case .noneOf(let values): .object(["not": .array(values.map(\.json))])
                }
            }
        )
        if !excluded.isEmpty { members["excluded"] = .array(excluded.map { .string($0) }) }
        if !questions.isEmpty { members["questions"] = .array(questions.map { .string($0) }) }
        add("about", about.mapValues { .string($0) })
        return .object(members)
    }

    /// One text, or a list of several.
    private static func list(_ texts: [String]) -> JSON {
        texts.count == 1 ? .string(texts[0]) : .array(texts.map { .string($0) })
    }
}

extension TableMapping.Origin {
    fileprivate var json: JSON {
        switch self {
        case .constant(let constant): return .object(["constant": constant.json])
        case .column(let name, let form, let nulls, let values):
            var members: [String: JSON] = ["column": .string(name)]
            if let form { members["form"] = .string(form.name) }
            if !nulls.isEmpty { members["null"] = .array(nulls.map(\.json)) }
            if !values.isEmpty { members["values"] = .object(values.mapValues(\.json)) }
            return members.count == 1 ? .string(name) : .object(members)
        }
    }
}

extension MappedConstant {
    fileprivate var json: JSON {
        switch self {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        case .string(let text): .string(text)
        }
    }
}

/// A mistake in a mapping, or something that it does not say.
public struct MappingFinding: Error, Sendable, Hashable, Encodable {
    /// The line in the mapping's file, from 1; nil for what does not stand in it.
    public var line: Int?
    /// The column in its line, from 1.
    public var column: Int?
    /// The mistake and its remedy.
    public var message: String
    /// Whether it is about values that do not have their form, which an import may set aside.
    var isAboutValues = false
    /// Whether it is about tables or columns that the mapping does not mention, which affects no mapped one.
    package internal(set) var isAboutRest = false

    private enum CodingKeys: String, CodingKey { case line, column, message }
}

/// The bytes at which the parts of a mapping begin.
struct MappingPlaces: Sendable {
    /// By the mapping's tables in their order, and the path of members in each: `attributes.name`.
    private var offsets: [Int: [String: Int]] = [:]
    private var lines: [Int] = [0]

    init() {}

    init(_ bytes: [UInt8]) {
        for (offset, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") { lines.append(offset + 1) }
    }

    mutating func note(_ table: Int, _ path: String, at offset: Int) { offsets[table, default: [:]][path] = offset }

    func finding(at offset: Int, _ message: String) -> MappingFinding {
        let line = lines.lastIndex { $0 <= offset } ?? 0
        return MappingFinding(line: line + 1, column: offset - lines[line] + 1, message: message)
    }

    /// A finding about a part of a table's mapping, or about the nearest part around it that has a place.
    func finding(_ table: Int, _ path: String, _ message: String) -> MappingFinding {
        let known = offsets[table] ?? [:]
        let head = path.split(separator: ".").first.map(String.init) ?? ""
        guard let offset = known[path] ?? known[head] ?? known[""] else { return MappingFinding(message: message) }
        return finding(at: offset, message)
    }
}

/// Reads a mapping and finds unknown keys.
private struct MappingReader {
    private let bytes: [UInt8]
    private let path: String?
    private var places: MappingPlaces
    private var findings: [MappingFinding] = []

    init(_ bytes: [UInt8], _ path: String?) {
        (self.bytes, self.path) = (bytes, path)
        places = MappingPlaces(bytes)
    }

    mutating func mapping() throws -> TableMapping {
        let root: JSONNode
        do {
            var parser = JSONParser(bytes, .exact)
            root = try parser.parse()
        } catch {
            throw failure([places.finding(at: error.offset, error.message)])
        }
        guard case .object(let members) = root.value else {
            throw failure([
                places.finding(at: root.range.lowerBound, "a mapping is an object, and not \(root.typeName)")
            ])
        }
        if let format = root.member("format")?.value, let number = JSON(format).integer, number > TableMapping.format {
            throw HabitStoreError(
                .newerVersion,
                "the mapping has format \(number); \(TableMapping.format) is the newest that is known",
                at: .init(path: path)
            )
        }
        requireKnown(members, ["$schema", "format", "namespace", "tables"])
        if root.member("format").flatMap({ JSON($0.value).integer }) != TableMapping.format {
            find(root, "\"format\" has to be \(TableMapping.format)")
        }
        let namespace = root.member("namespace").flatMap { text($0.value) } ?? ""
        var tables: [TableMapping.Table] = []
        if let list = root.member("tables")?.value, case .array(let elements) = list.value {
            for (index, element) in elements.enumerated() { tables.append(table(element, index)) }
        } else {
            find(root, "\"tables\" is missing: a list of tables")
        }
        guard findings.isEmpty else { throw failure(findings) }
        var mapping = TableMapping(namespace: namespace, tables: tables)
        mapping.places = places
        return mapping
    }

    private mutating func table(_ node: JSONNode, _ index: Int) -> TableMapping.Table {
        var result = TableMapping.Table("", entity: nil)
        guard case .object(let members) = node.value else {
            find(node, "a table's mapping is an object, and not \(node.typeName)")
            return result
        }
        places.note(index, "", at: node.range.lowerBound)
        for member in members {
            places.note(index, member.key, at: member.keyRange.lowerBound)
            guard case .object(let parts) = member.value.value else { continue }
            for part in parts { places.note(index, "\(member.key).\(part.key)", at: part.keyRange.lowerBound) }
        }
        requireKnown(members, TableMapping.members)
        if let name = node.member("table") {
            result.table = text(name.value) ?? ""
        } else {
            find(node, "\"table\" is missing")
        }
        if let entity = node.member("entity") {
            if case .null = entity.value.value {} else { result.entity = text(entity.value) }
        } else if node.member("questions") == nil {
            find(node, "\"entity\" is missing: null for a table that is left out")
        }
        if let key = node.member("key")?.value {
            if case .object(let parts) = key.value {
                requireKnown(parts, ["column", "form"])
                result.key = key.member("column").map { texts($0.value) } ?? []
                result.keyForm = key.member("form").flatMap { form($0.value) }
            } else {
                result.key = texts(key)
            }
        }
        result.identifier = node.member("identifier").flatMap { identifier($0.value) }
        result.naturalKey = node.member("naturalKey").map { texts($0.value) } ?? []
        for part in parts(node, "attributes") { result.attributes[part.key] = origin(part.value) }
        for part in parts(node, "relationships") { result.relationships[part.key] = reference(part.value) }
        for part in parts(node, "links") { result.links[part.key] = links(part.value) }
        for part in parts(node, "rows") { result.rows[part.key] = condition(part.value) }
        result.excluded = node.member("excluded").map { texts($0.value) } ?? []
        result.questions = node.member("questions").map { texts($0.value) } ?? []
        for part in parts(node, "about") { result.about[part.key] = text(part.value) }
        return result
    }

    private mutating func identifier(_ node: JSONNode) -> TableMapping.Identifier? {
        guard case .object(let members) = node.value, let column = node.member("column"),
            let named = node.member("form")
        else {
            find(node, "an identifier is an object with a \"column\" and its \"form\"")
            return nil
        }
        requireKnown(members, ["column", "form"])
        guard let name = text(column.value), let form = form(named.value) else { return nil }
        return TableMapping.Identifier(column: name, form: form)
    }

    private mutating func origin(_ node: JSONNode) -> TableMapping.Origin? {
        guard case .object(let members) = node.value else {
            return text(node).map { .column($0, form: nil) }
        }
        if let constant = node.member("constant") {
            requireKnown(members, ["constant"])
            return scalar(constant.value).map { .constant($0) }
        }
        requireKnown(members, ["column", "form", "null", "values"])
        guard let column = node.member("column").flatMap({ text($0.value) }) else {
            find(node, "an attribute needs a \"column\" or a \"constant\"")
            return nil
        }
        var values: [String: MappedConstant] = [:]
        if let member = node.member("values") {
            if case .object(let cases) = member.value.value {
                for part in cases { values[part.key] = scalar(part.value) }
            } else {
                find(member.value, "\"values\" is an object with a value for each stored one")
            }
            if node.member("form") != nil { find(node, "give \"values\" or a \"form\", not both") }
        }
        let nulls = node.member("null").map { scalars($0.value) } ?? []
        return .column(column, form: node.member("form").flatMap { form($0.value) }, nulls: nulls, values: values)
    }

    private mutating func reference(_ node: JSONNode) -> TableMapping.Reference? {
        guard case .object(let members) = node.value else {
            return TableMapping.Reference(columns: texts(node), table: nil)
        }
        requireKnown(members, ["columns", "table"])
        guard let columns = node.member("columns") else {
            find(node, "\"columns\" is missing")
            return nil
        }
        return TableMapping.Reference(
            columns: texts(columns.value),
            table: node.member("table").flatMap { text($0.value) }
        )
    }

    private mutating func links(_ node: JSONNode) -> TableMapping.Links? {
        guard case .object(let members) = node.value else {
            find(node, "links are an object with \"table\", \"here\" and \"there\"")
            return nil
        }
        requireKnown(members, ["table", "here", "there", "excluded", "leadsTo"])
        guard let table = node.member("table").flatMap({ text($0.value) }), let here = node.member("here"),
            let there = node.member("there")
        else {
            find(node, "links need \"table\", \"here\" and \"there\"")
            return nil
        }
        return TableMapping.Links(
            table: table,
            here: texts(here.value),
            there: texts(there.value),
            excluded: node.member("excluded").map { texts($0.value) } ?? [],
            leadsTo: node.member("leadsTo").flatMap { text($0.value) }
        )
    }

    private mutating func condition(_ node: JSONNode) -> TableMapping.Condition? {
        guard case .object(let members) = node.value else { return .oneOf(conditionValues(node)) }
        requireKnown(members, ["not"])
        guard let not = node.member("not") else {
            find(node, "a condition is a value, a list of values, or {\"not\": …}")
            return nil
        }
        return .noneOf(conditionValues(not.value))
    }

    private mutating func conditionValues(_ node: JSONNode) -> [MappedConstant] {
        if case .array(let elements) = node.value, elements.isEmpty { find(node, "a condition needs a value") }
        return scalars(node)
    }

    // MARK: Parts

    private mutating func parts(_ node: JSONNode, _ key: String) -> [JSONMember] {
        guard let member = node.member(key) else { return [] }
        guard case .object(let parts) = member.value.value else {
            find(member.value, "\(JSON.quoted(key)) is an object, and not \(member.value.typeName)")
            return []
        }
        return parts
    }

    private mutating func form(_ node: JSONNode) -> StoredForm? {
        guard let name = text(node) else { return nil }
        if let form = StoredForm(name) { return form }
        let question = NearMiss.question(name, among: StoredForm.names)
        find(
            node,
            "there is no form \(JSON.quoted(name))\(question.isEmpty ? "; the documentation lists them" : question)"
        )
        return nil
    }

    private mutating func text(_ node: JSONNode) -> String? {
        if let text = JSON(node).text { return text }
        find(node, "this is \(node.typeName) where a text is expected")
        return nil
    }

    /// A text, or a list of texts.
    private mutating func texts(_ node: JSONNode) -> [String] {
        guard case .array(let elements) = node.value else { return text(node).map { [$0] } ?? [] }
        var result: [String] = []
        for element in elements { if let text = text(element) { result.append(text) } }
        return result
    }

    private mutating func scalar(_ node: JSONNode) -> MappedConstant? {
        switch JSON(node) {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .int(let number): return .int(number)
        case .double(let number): return .double(number)
        case .string(let text): return .string(text)
        case .array, .object:
            find(node, "this is \(node.typeName) where a single value is expected")
            return nil
        }
    }

    private mutating func scalars(_ node: JSONNode) -> [MappedConstant] {
        guard case .array(let elements) = node.value else { return scalar(node).map { [$0] } ?? [] }
        var result: [MappedConstant] = []
        for element in elements { if let value = scalar(element) { result.append(value) } }
        return result
    }

    private mutating func requireKnown(_ members: [JSONMember], _ names: [String]) {
        for member in members where !names.contains(member.key) {
            let question = NearMiss.question(member.key, among: names)
            let known = question.isEmpty ? "; there are \(names.joined(separator: ", "))" : question
            findings.append(
                places.finding(at: member.keyRange.lowerBound, "\(JSON.quoted(member.key)) is not known here\(known)")
            )
        }
    }

    private mutating func find(_ node: JSONNode, _ message: String) {
        findings.append(places.finding(at: node.range.lowerBound, message))
    }

    private func failure(_ findings: [MappingFinding]) -> HabitStoreError {
        let lines = findings.map { finding in
            guard let line = finding.line, let column = finding.column else { return finding.message }
            return "\(line):\(column): \(finding.message)"
        }
        return HabitStoreError(
            .invalidValue,
            "the mapping cannot be used: \(lines.joined(separator: "; "))",
            at: .init(path: path)
        )
    }
}
