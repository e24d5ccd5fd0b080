import Foundation
@_spi(Engines) import HabitStore
import Hashing

/// Reads a mapped file a second time, and says where a store differs from it. It shares nothing with the import but the mapping: which rows are
/// meant, what they refer to and which dates their texts name is asked of SQLite, whose date functions are another parser than ``DatePattern``.
struct TableWitness {
    private let file: TableFile
    private let mapping: TableMapping
    private let schema: Schema
    /// The greatest difference of two instants in seconds, since SQLite divides where the import subtracts first.
    private static let tolerance = 0.000_001
    private static let mostDifferences = 20

    /// What a merge made of the rows; nil for an import into an empty store.
    private let merged: Merged?

    /// A row, by its table and the identifier that its key gives.
    struct Row: Hashable {
        let table: SQLName
        let id: UUID
    }

    /// What a merge made of rows that did not become new records of their own.
    struct Merged {
        /// The identifiers of the records that rows are, by their natural keys.
        var identifiers: [Row: UUID] = [:]
        /// Rows that the store says otherwise, or not at all.
        var excepted: Set<Row> = []
        /// By table and entity, rows whose key is no identifier.
        var keyless: [[String]: Int] = [:]
    }

    init(_ file: TableFile, _ mapping: TableMapping, _ schema: Schema, merged: Merged? = nil) {
        (self.file, self.mapping, self.schema, self.merged) = (file, mapping, schema, merged)
    }

    func compare(_ replica: any ReplicaSnapshot, _ report: inout TableImport.Report) throws {
        var expected: [String: Int] = [:]
        var missing: [[String]: Int] = [:]
        for table in mapping.tables {
            guard let name = table.entity, let index = schema.entities.firstIndex(where: { $0.name == name }) else {
                continue
            }
            let rows = try compare(table, index, replica, &report)
            expected[name, default: 0] += rows.compared
            missing[[table.table.sqlName.text, name], default: 0] += rows.missing
        }
        for (place, count) in missing.sorted(by: { $0.key.description < $1.key.description }) {
            let stated = report.entities.filter { [$0.table.sqlName.text, $0.entity] == place }
            let setAside =
                merged.map { $0.keyless[place] ?? 0 } ?? stated.reduce(0) { $0 + $1.rows - $1.records }
            if count != setAside {
                note(
                    "\(stated.first?.table ?? place[0]): \(count) rows have no record, and \(setAside) were set aside",
                    &report
                )
            }
        }
        guard merged == nil else { return }
        for (index, entity) in schema.entities.enumerated() {
            let (there, wanted) = (try replica.count(entity: index), expected[entity.name] ?? 0)
            if there != wanted {
                note("\(entity.name): \(there) records in the store, \(wanted) in the file", &report)
            }
        }
    }

    /// - Returns: how many rows have a record, and how many have none.
    private func compare(
        _ table: TableMapping.Table,
        _ index: Int,
        _ replica: any ReplicaSnapshot,
        _ report: inout TableImport.Report
    ) throws -> (compared: Int, missing: Int) {
        let entity = schema.entities[index]
        let key = keyColumns(table)
        let identity = identityColumns(table)
        var terms = (key + identity).map { quoted($0) }
        var readers: [(position: Int, terms: Range<Int>, reader: Reader)] = []
        for (position, attribute) in entity.attributes.enumerated().dropFirst() {
            let start = terms.count
            guard let reader = try reader(attribute, entity, table, &terms) else { continue }
            readers.append((position, start..<terms.count, reader))
        }
        let rows = try file.connection.prepare(
            "SELECT \(terms.joined(separator: ", ")) FROM \(quoted(table.table)) AS this WHERE \(condition(table))"
        )
        let layout = entity.layout
        var count = 0
        var setAside = 0
        while try rows.step() {
            let values = terms.indices.map { rows.value($0) }
            func name() -> String {
                "\(table.table) \(values.prefix(key.count).map(\.summary).joined(separator: ", "))"
            }
            let own = identifier(Array(values[key.count..<(key.count + identity.count)]), table)
            if let own, merged?.excepted.contains(Row(table: table.table.sqlName, id: own)) == true { continue }
            guard let id = merge(own, table), let record = try replica.record(entity: index, id: id)
            else {
                setAside += 1
                continue
            }
            count += 1
            let there = try record.values(layout)
            for (position, range, reader) in readers {
                report.comparedValues += 1
                if try !reader.agrees(Array(values[range]), there[position]) {
                    note("\(name()): \(entity.attributes[position].name) is another value in the store", &report)
                }
            }
        }
        return (count, setAside)
    }

    private func note(_ difference: String, _ report: inout TableImport.Report) {
        if report.differences.count < Self.mostDifferences {
            report.differences.append(difference)
        } else if report.differences.count == Self.mostDifferences {
            report.differences.append("and more")
        }
    }

    // MARK: Values

    /// Compares what a row says with what a record says.
    private struct Reader {
        let agrees: (_ row: [SourceValue], _ value: Value) throws -> Bool
    }

    /// - Parameter terms: gets the SQL terms whose values the reader needs.
    private func reader(
        _ attribute: AttributeDescription,
        _ entity: EntityDescription,
        _ table: TableMapping.Table,
        _ terms: inout [String]
    ) throws -> Reader? {
        if let origin = table.attributes[attribute.name] { return reader(origin, attribute, &terms) }
        for relationship in entity.relationships {
            switch relationship.kind {
            case .toOne(attribute.name):
                guard let reference = table.relationships[relationship.name] else { continue }
                return self.reader(reference, relationship.destination, &terms)
            case .manyToManyOwner(attribute.name):
                guard let links = table.links[relationship.name] else { continue }
                return try self.reader(links, relationship.destination, table, &terms)
            default: continue
            }
        }
        if attribute.kind == .uuid, let reference = table.relationships[attribute.name] {
            return self.reader(reference, nil, &terms)
        }
        if attribute.kind == .links, let links = table.links[attribute.name] {
            return try self.reader(links, nil, table, &terms)
        }
        return Reader { _, value in value.isNull || value == .links([]) }
    }

    private func reader(_ origin: TableMapping.Origin, _ attribute: AttributeDescription, _ terms: inout [String])
        -> Reader
    {
        guard case .column(let name, let form, let nulls, let cases) = origin else {
            guard case .constant(let constant) = origin else { return Reader { _, _ in false } }
            return Reader { _, value in value == constant.value(of: attribute) }
        }
        let column = "this.\(quoted(name))"
        terms.append(column)
        func isNull(_ stored: SourceValue) -> Bool { stored == .null || nulls.contains { Self.isEqual(stored, $0) } }
        func reader(_ agrees: @escaping (SourceValue, SourceValue, Value) -> Bool) -> Reader {
            Reader { row, value in isNull(row[0]) ? value.isNull : agrees(row[0], row.count > 1 ? row[1] : .null, value)
            }
        }
        if !cases.isEmpty {
            return reader { stored, _, value in
                switch stored {
                case .int(let number): cases[String(number)]?.value(of: attribute) == value
                case .text(let text):
                    cases.first { Array($0.key.utf8) == Array(text.utf8) }?.value.value(of: attribute) == value
                default: false
                }
            }
        }
        func date(_ seconds: String) -> Reader {
            terms.append(seconds)
            return reader { _, computed, value in
                guard case .date(let date) = value else { return false }
                switch computed {
                case .real(let number):
                    return abs(number - date.timeIntervalSinceReferenceDate) <= max(Self.tolerance, 2 * number.ulp)
                case .int(let number):
                    return abs(Double(number) - date.timeIntervalSinceReferenceDate) <= Self.tolerance
                default: return false
                }
            }
        }
        switch form ?? StoredForm.plain(attribute.kind) {
        case .count(let unit, let year)?:
            let perSecond =
                ["nanoseconds": "1000000000.0", "microseconds": "1000000.0", "milliseconds": "1000.0"][unit.rawValue]
                ?? "1.0"
            let days = unit.rawValue == "days" ? " * 86400.0" : ""
            return date("\(column)\(days) / \(perSecond) - \(year.rawValue == "1970" ? "978307200.0" : "0.0")")
        case .julianDays?: return date("(\(column) - 2451910.5) * 86400.0")
        case .date(let pattern)?: return date(Self.seconds(column, pattern.text))
        case .uuid?, .uuidBytes?:
            terms.append(
                "CASE typeof(\(column)) WHEN 'blob' THEN lower(hex(\(column))) ELSE \(Self.digits(column)) END"
            )
            return reader { _, digits, value in
                guard case .uuid(let id) = value, case .text(let text) = digits else { return false }
                return text == id.uuidString.lowercased().filter { $0 != "-" }
            }
        case .text?:
            return reader { stored, _, value in
                guard case .text(let text) = stored, case .string(let there) = value else { return false }
                return text.precomposedStringWithCanonicalMapping.utf8.elementsEqual(there.utf8)
            }
        case .integer?:
            terms.append("CAST(\(column) AS INTEGER)")
            return reader { _, number, value in if case .int(let there) = value { number == .int(there) } else { false }
            }
        case .real?:
            terms.append("CAST(\(column) AS REAL)")
            return reader { _, number, value in
                if case .double(let there) = value { number == .real(there) } else { false }
            }
        case .boolean?:
            terms.append("\(column) = 1")
            return reader { _, flag, value in
                if case .bool(let there) = value { flag == .int(there ? 1 : 0) } else { false }
            }
        case .bytes?:
            return reader { stored, _, value in
                if case .data(let there) = value { stored == .blob(there) } else { false }
            }
        case .json?:
            return reader { stored, _, value in
                guard case .text(let text) = stored else { return false }
                if case .data(let there) = value { return there == Data(text.utf8) }
                guard case .strings(let there) = value else { return false }
                return (try? JSONDecoder().decode([String].self, from: Data(text.utf8)))?
                    .map(\.precomposedStringWithCanonicalMapping) == there
            }
        case .archive?:
            return reader { stored, _, value in
                guard case .blob(let bytes) = stored, case .strings(let there) = value,
                    let list = try? NSKeyedUnarchiver.unarchivedObject(
                        ofClasses: [NSArray.self, NSString.self, NSNumber.self],
                        from: bytes
                    ) as? [Any]
                else { return false }
                return list.map { "\($0)".precomposedStringWithCanonicalMapping } == there
            }
        case .decimal?, .minorUnits?:
            var digits = 0
            if case .minorUnits(let count)? = form { digits = count }
            return reader { stored, _, value in
                guard case .data(let json) = value, let there = Decimal(string: String(decoding: json, as: UTF8.self))
                else { return false }
                switch stored {
                case .text(let text): return Decimal(string: text) == there
                case .int(let number): return Decimal(number) == there * pow(10, digits)
                default: return false
                }
            }
        case .anyOf(let forms)?:
            let start = terms.count - 1
            var places: [Range<Int>] = []
            let readers = forms.map { form in
                let first = terms.count - start
                let reader = self.reader(.column(name, form: form, nulls: nulls), attribute, &terms)
                places.append(first..<(terms.count - start))
                return reader
            }
            return Reader { row, value in
                try zip(readers, places).contains { try $0.agrees(Array(row[$1]), value) }
            }
        case nil: return Reader { _, _ in false }
        }
    }

    /// The seconds since 2001 that a text names: its parts in the order that SQLite's date functions read.
    private static func seconds(_ column: String, _ name: String) -> String {
        let names = [
            "grdb": "yyyy-MM-dd HH:mm:ss.SSS", "sqlite.swift": "yyyy-MM-dd'T'HH:mm:ss.SSS",
            "iso8601": "yyyy-MM-dd'T'HH:mm:ssXXX",
            "iso8601 fractions": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
        ]
        let pattern = Array((names[name] ?? name).filter { $0 != "'" || (names[name] ?? name).contains("''") })
        func part(_ letter: Character) -> String? {
            guard let start = pattern.firstIndex(of: letter) else { return nil }
            let count = pattern[start...].prefix { $0 == letter }.count
            return letter == "X" ? "substr(\(column), \(start + 1))" : "substr(\(column), \(start + 1), \(count))"
        }
        let day = "\(part("y") ?? "''") || '-' || \(part("M") ?? "''") || '-' || \(part("d") ?? "''")"
        let time = "' ' || \(part("H") ?? "'00'") || ':' || \(part("m") ?? "'00'") || ':' || \(part("s") ?? "'00'")"
        let zone = part("X").map { " || \($0)" } ?? ""
        let whole = "CAST(strftime('%s', \(day) || \(time)\(zone)) AS INTEGER) - 978307200"
        guard let fraction = part("S") else { return whole }
        return "\(whole) + CAST('0.' || \(fraction) AS REAL)"
    }

    private static func digits(_ column: String) -> String {
        "replace(replace(replace(lower(\(column)), '-', ''), '{', ''), '}', '')"
    }

    // MARK: References

    private func reader(_ reference: TableMapping.Reference, _ destination: String?, _ terms: inout [String]) -> Reader?
    {
        guard let other = target(reference.table, destination) else { return nil }
        let columns = reference.columns.map { "this.\(quoted($0))" }
        terms += columns + joined(columns, other)
        return Reader { row, value in
            let own = Array(row.prefix(columns.count))
            guard !own.contains(.null) else { return value.isNull }
            return merge(identifier(own, found: Array(row.dropFirst(columns.count)), other), other)
                .map { value == .uuid($0) } ?? value.isNull
        }
    }

    private func reader(
        _ links: TableMapping.Links,
        _ destination: String?,
        _ table: TableMapping.Table,
        _ terms: inout [String]
    ) throws -> Reader? {
        guard let other = target(links.leadsTo, destination) else { return nil }
        let columns = links.there.map { "this.\(quoted($0))" }
        let key = keyColumns(table).map { "mine.\(quoted($0))" }
        let conditions =
            zip(key, links.here).map { "\($0) = this.\(quoted($1))" } + key.enumerated().map { "\($1) IS ?\($0 + 1)" }
        let query = try file.connection.prepare(
            "SELECT \((columns + joined(columns, other)).joined(separator: ", ")) FROM \(quoted(links.table)) AS this, "
                + "\(quoted(table.table)) AS mine WHERE \(conditions.joined(separator: " AND "))"
        )
        terms += keyColumns(table).map { "this.\(quoted($0))" }
        return Reader { row, value in
            guard case .links(let there) = value else { return false }
            var ids: Set<UUID> = []
            try query.bind(row)
            while try query.step() {
                let all = (0..<query.columnCount).map { query.value($0) }
                let (own, found) = (Array(all.prefix(columns.count)), Array(all.dropFirst(columns.count)))
                if let id = merge(identifier(own, found: found, other), other) { ids.insert(id) }
            }
            return ids == Set(there) && there.count == ids.count
        }
    }

    /// What identifies the row that columns refer to, as that row has it.
    private func joined(_ columns: [String], _ other: TableMapping.Table) -> [String] {
        let key = keyColumns(other).map { "other.\(quoted($0))" }
        let conditions = zip(key, columns).map { "\($0) = \($1)" }.joined(separator: " AND ")
        return identityColumns(other).map { "other.\(quoted($0))" }.map {
            "(SELECT \($0) FROM \(quoted(other.table)) AS other WHERE \(conditions) LIMIT 1)"
        }
    }

    private func target(_ named: String?, _ entity: String?) -> TableMapping.Table? {
        mapping.tables.first { table in
            table.entity != nil && (entity == nil || table.entity == entity)
                && (named.map { $0.sqlName == table.table.sqlName } ?? true)
        }
    }

    // MARK: Keys

    private func keyColumns(_ table: TableMapping.Table) -> [String] {
        table.key.isEmpty ? file.table(table.table)?.primaryKey ?? [] : table.key
    }

    /// The columns that say a row's identifier.
    private func identityColumns(_ table: TableMapping.Table) -> [String] {
        table.identifier.map { [$0.column] } ?? keyColumns(table)
    }

    /// The identifier of the row that a key leads to, or else the one that the key says.
    private func identifier(_ key: [SourceValue], found: [SourceValue], _ table: TableMapping.Table) -> UUID? {
        guard found.contains(.null) else { return identifier(found, table) }
        return table.keyForm == nil ? derived(key, table) : identifier(key, table)
    }

    /// The identifier of the record that a row is.
    private func merge(_ id: UUID?, _ table: TableMapping.Table) -> UUID? {
        id.map { merged?.identifiers[Row(table: table.table.sqlName, id: $0)] ?? $0 }
    }

    /// The identifier in the columns that say it.
    private func identifier(_ values: [SourceValue], _ table: TableMapping.Table) -> UUID? {
        if table.keyForm != nil || table.identifier != nil {
            switch values.first {
            case .text(let text)?:
                let hex = text.lowercased().filter { $0 != "-" && $0 != "{" && $0 != "}" }
                guard hex.utf8.count == 32 else { return nil }
                var bytes: [UInt8] = []
                for start in stride(from: 0, to: 32, by: 2) {
                    guard let byte = UInt8(hex.dropFirst(start).prefix(2), radix: 16) else { return nil }
                    bytes.append(byte)
                }
                return Self.uuid(bytes)
            case .blob(let bytes)?: return bytes.count == 16 ? Self.uuid(Array(bytes)) : nil
            default: return nil
            }
        }
        return derived(values, table)
    }

    private func derived(_ key: [SourceValue], _ table: TableMapping.Table) -> UUID? {
        var hash = SHA256()
        func add(_ text: String) {
            let count = UInt64(text.utf8.count)
            hash.update(data: (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) })
            hash.update(data: Data(text.utf8))
        }
        let name = String(decoding: table.table.utf8.map { $0 > 64 && $0 < 91 ? $0 | 32 : $0 }, as: UTF8.self)
        for part in ["habitstore table", mapping.namespace, name] { add(part) }
        for part in key {
            switch part {
            case .int(let number): add("i" + String(number))
            case .text(let text): add("t" + text)
            case .blob(let bytes): add("b" + bytes.base64EncodedString())
            default: return nil
            }
        }
        var bytes = Array(hash.finalize().prefix(16))
        bytes[6] = 0x80 | (bytes[6] & 0x0F)
        bytes[8] = 0x80 | (bytes[8] & 0x3F)
        return Self.uuid(bytes)
    }

    private static func uuid(_ bytes: [UInt8]) -> UUID? {
        NSUUID(uuidBytes: bytes) as UUID
    }

    // MARK: Rows

    private func condition(_ table: TableMapping.Table) -> String {
        let terms = table.rows.map { column, condition in
            switch condition {
            case .oneOf(let values): "(" + values.map { Self.term(quoted(column), $0) }.joined(separator: " OR ") + ")"
            case .noneOf(let values):
                "NOT (" + values.map { Self.term(quoted(column), $0) }.joined(separator: " OR ") + ")"
            }
        }
        return terms.isEmpty ? "1" : terms.joined(separator: " AND ")
    }

    private static func term(_ column: String, _ constant: MappedConstant) -> String {
        switch constant {
        case .null: "\(column) IS NULL"
        case .bool(let flag): "+\(column) IS \(flag ? 1 : 0)"
        case .int(let number): "+\(column) IS \(number)"
        case .double(let number): "+\(column) IS \(number)"
        case .string(let text):
            "+\(column) COLLATE BINARY IS CAST(x'\(text.utf8.map { String(format: "%02x", $0) }.joined())' AS TEXT)"
        }
    }

    private static func isEqual(_ stored: SourceValue, _ constant: MappedConstant) -> Bool {
        switch (stored, constant) {
        case (.text(let text), .string(let other)): Array(text.utf8) == Array(other.utf8)
        case (.int(let number), .int(let other)): number == other
        case (.int(let number), .bool(let flag)): number == (flag ? 1 : 0)
        case (.real(let number), .double(let other)): number == other
        case (.real(let number), .int(let other)): number == Double(other)
        case (.int(let number), .double(let other)): Double(number) == other
        default: false
        }
    }

    private func quoted(_ name: String) -> String { "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\"" }
}
