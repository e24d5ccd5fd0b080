import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite

extension SQLiteStatement {
    /// Binds a stored value.
    func bind(_ value: SourceValue, at index: Int) throws {
        let index = Int32(index)
        switch value {
        case .null: try bindNull(at: index)
        case .int(let number): try bind(number, at: index)
        case .real(let number): try bind(number, at: index)
        case .text(let text): try bind(text, at: index)
        case .blob(let bytes): try bytes.withUnsafeBytes { try bind($0, at: index) }
        case .malformedText(let bytes): try bytes.withUnsafeBytes { try bind(utf8: $0, at: index) }
        }
    }

    /// Binds stored values, from a parameter on.
    func bind(_ values: [SourceValue], from first: Int = 1) throws {
        for (offset, value) in values.enumerated() { try bind(value, at: first + offset) }
    }

    /// The stored value in a column.
    func stored(at column: Int) -> SourceValue {
        let index = Int32(column)
        switch type(at: index) {
        case .null: return .null
        case .integer: return .int(int64(at: index))
        case .real: return .real(double(at: index))
        case .text:
            let bytes = utf8(at: index)
            guard let text = String(validating: bytes, as: UTF8.self) else { return .malformedText(Data(bytes)) }
            return .text(text)
        case .blob: return .blob(Data(bytes(at: index)))
        }
    }

    /// The stored values of some columns.
    func row(_ columns: Range<Int>) -> [SourceValue] { columns.map { stored(at: $0) } }
}

/// Makes records of the rows of an adopted file, on one connection.
final class MappedRows {
    let connection: SQLiteConnection
    let layout: MappedLayout
    /// Whether the file cannot change meanwhile, so that the targets of references may be cached.
    private let isUnchanging: Bool
    private var targets: [RowKey: UUID] = [:]

    private static let mostTargets = 10_000

    init(_ connection: SQLiteConnection, _ layout: MappedLayout, isUnchanging: Bool = false) {
        (self.connection, self.layout, self.isUnchanging) = (connection, layout, isUnchanging)
    }

    // MARK: Keys

    /// The identifier of a key; nil if the key belongs to no record, living or dead.
    func identifier(_ key: [SourceValue], _ table: MappedTable) throws -> UUID? {
        try connection.withStatement(table.selectIdentifier) { statement in
            try statement.bind(key)
            return try statement.step() ? try statement.uuid(at: 0) : nil
        }
    }

    /// The key of an identifier.
    func key(_ id: UUID, _ table: MappedTable) throws -> [SourceValue]? {
        try connection.withStatement(table.selectKey) { statement in
            try statement.bind(id, at: 1)
            return try statement.step() ? statement.row(0..<table.source.key.count) : nil
        }
    }

    /// Keeps the key of an identifier that has none.
    func keep(_ id: UUID, _ key: [SourceValue], _ table: MappedTable) throws {
        try connection.withStatement(table.insertKey) { statement in
            try statement.bind(id, at: 1)
            try statement.bind(key, from: 2)
            try statement.run()
        }
    }

    /// Changes the key of an identifier.
    func change(_ id: UUID, to key: [SourceValue], _ table: MappedTable) throws {
        let names = key.indices.map { "k\($0) = ?\($0 + 2)" }.joined(separator: ", ")
        try connection.withStatement("UPDATE \(table.keyTable) SET \(names) WHERE id = ?1") { statement in
            try statement.bind(id, at: 1)
            try statement.bind(key, from: 2)
            try statement.run()
        }
    }

    /// The row of a key.
    func row(_ key: [SourceValue], _ table: MappedTable) throws -> [SourceValue]? {
        try connection.withStatement(table.selectRow) { statement in
            try statement.bind(key)
            return try statement.step() ? statement.row(0..<table.source.columns.count) : nil
        }
    }

    /// The identifier that a reference means: that of the key, or the one that a record with the key would have.
    func target(_ key: [SourceValue], _ table: Int) throws -> UUID? {
        let reference = RowKey(table, key)
        if isUnchanging, let known = targets[reference] { return known }
        let target =
            try identifier(key, layout.tables[table]) ?? layout.plan.identifier(key, of: layout.tables[table].source)
        if isUnchanging {
            if targets.count == Self.mostTargets { targets = [:] }
            targets[reference] = target
        }
        return target
    }

    /// The keys that the links of an owner lead to.
    func linked(_ key: [SourceValue], _ links: MappedLinkTable) throws -> [[SourceValue]] {
        try connection.withStatement(links.select) { statement in
            try statement.bind(key)
            var result: [[SourceValue]] = []
            while try statement.step() { result.append(statement.row(0..<links.links.there.count)) }
            return result
        }
    }

    // MARK: Records

    /// The entity that a row becomes; nil for a row that is left out.
    func part(of row: [SourceValue], _ table: MappedTable) throws -> TablePlan.Part? {
        let (parts, isLeftOut) = table.source.parts(of: row)
        guard parts.count + (isLeftOut ? 1 : 0) == 1 else {
            throw HabitStoreError(
                .invalidValue,
                "a row of \(table.name) fulfils the conditions of \(parts.isEmpty ? "no mapping" : "more than one mapping"); "
                    + "correct the row, or adopt the file with another mapping",
                at: .init(path: connection.path)
            )
        }
        return parts.first
    }

    /// The values of a row.
    ///
    /// - Parameter linked: the keys that the links of some attributes lead to, instead of those in the file.
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for a value that does not have its form.
    func values(
        _ row: [SourceValue],
        _ id: UUID,
        _ table: MappedTable,
        _ part: TablePlan.Part,
        linked: [Int: [[SourceValue]]] = [:]
    ) throws -> [Value] {
        try part.fields.indices.map { try value(at: $0, id, table, part, linked: linked[$0]) { row[$0] } }
    }

    /// The value of one attribute of a row.
    ///
    /// - Parameter stored: gives the stored value in a column.
    private func value(
        at position: Int,
        _ id: UUID,
        _ table: MappedTable,
        _ part: TablePlan.Part,
        linked: [[SourceValue]]? = nil,
        _ stored: (TablePlan.Place) -> SourceValue
    ) throws -> Value {
        let attribute = layout.schema.entities[part.entity].attributes[position]
        func refused(_ column: String, _ stored: SourceValue, _ what: String) -> HabitStoreError {
            HabitStoreError(
                .invalidValue,
                "\(table.name).\(column) has \(stored.kindSummary) where \(attribute.name) needs \(what); correct the value in the "
                    + "app, or adopt the file with another mapping",
                at: .init(
                    path: connection.path,
                    entity: layout.schema.entities[part.entity].name,
                    attribute: attribute.name,
                    id: id
                )
            )
        }
        func nothing(_ place: Int, _ stored: SourceValue, _ what: String) throws -> Value {
            guard attribute.isOptional else { throw refused(table.source.columns[place], stored, what) }
            return .null
        }
        switch part.fields[position] {
        case .missing: return attribute.kind == .links ? .links([]) : .null
        case .identifier: return .uuid(id)
        case .constant(let value): return try value.normalized()
        case .column(let place, let form, let nulls):
            let stored = stored(place)
            if stored.isNull || nulls.contains(where: { stored.matches($0) }) {
                return try nothing(place, stored, form.name)
            }
            guard let value = form.value(stored, as: attribute.kind), let normal = try? value.normalized() else {
                throw refused(table.source.columns[place], stored, form.name)
            }
            return normal
        case .cases(let place, let cases, let nulls):
            let stored = stored(place)
            if stored.isNull || nulls.contains(where: { stored.matches($0) }) {
                return try nothing(place, stored, "a code")
            }
            guard let code = stored.code,
                let value = cases.first(where: { $0.key.utf8.elementsEqual(code.utf8) })?.value
            else { throw refused(table.source.columns[place], stored, "one of the codes of the mapping") }
            return try value.normalized()
        case .reference(let places, let destination):
            let key = places.map(stored)
            if key.contains(.null) { return try nothing(places[0], .null, "a key of \(destination)") }
            guard let other = layout.table(destination), let target = try target(key, other) else {
                throw refused(table.source.columns[places[0]], key[0], "a key of \(destination)")
            }
            return .uuid(target)
        case .links(let links):
            guard let linkTable = layout.linkTable(links), let other = layout.table(links.leadsTo) else {
                throw HabitStoreError(.internalInconsistency, "a table of links is not in the layout")
            }
            let keys = try linked ?? self.linked(table.source.key.map(stored), linkTable)
            let targets = try keys.map { key in
                guard let target = try target(key, other) else {
                    throw refused(links.there.joined(separator: ", "), key.first ?? .null, "a key of \(links.leadsTo)")
                }
                return target
            }
            return try Value.links(targets).normalized()
        }
    }

    /// Writes the record of the row at which a statement stands: the identifier in the first column, the row's columns after it.
    func write(
        _ statement: SQLiteStatement,
        _ id: UUID,
        _ table: MappedTable,
        _ part: TablePlan.Part,
        to writer: inout AttributeWriter
    ) throws {
        writer.begin()
        for position in part.fields.indices {
            if try writeDirectly(part.fields[position], statement, &writer) { continue }
            try writer.append(
                value: try value(at: position, id, table, part) { statement.stored(at: $0 + Self.firstColumn) }
            )
        }
    }

    static let firstColumn = 1

    /// Writes a value that needs no conversion straight from its column.
    ///
    /// - Returns: false if it needs one.
    private func writeDirectly(
        _ field: TablePlan.Field,
        _ statement: SQLiteStatement,
        _ writer: inout AttributeWriter
    ) throws -> Bool {
        guard case .column(let place, let form, let nulls) = field, nulls.isEmpty else { return false }
        let column = Int32(place + Self.firstColumn)
        switch (form, statement.type(at: column)) {
        case (.text, .text): return writer.append(ascii: statement.utf8(at: column))
        case (.integer, .integer): writer.append(Int(statement.int64(at: column)))
        case (.real, .real):
            let number = statement.double(at: column)
            guard number.isFinite else { return false }
            try writer.append(number)
        case (.uuidBytes, .blob):
            guard statement.bytes(at: column).count == 16 else { return false }
            writer.append(try statement.uuid(at: column))
        default: return false
        }
        return true
    }

    /// The record of a row.
    func record(
        _ row: [SourceValue],
        _ id: UUID,
        _ table: MappedTable,
        _ part: TablePlan.Part,
        linked: [Int: [[SourceValue]]] = [:]
    ) throws -> EncodedRecord {
        let values = try values(row, id, table, part, linked: linked)
        // Limits are for new values: those that the app has stored are carried over.
        var writer = AttributeWriter(layout: layout.schema.entities[part.entity].layout, refusesLargeValues: false)
        for value in values { try writer.append(value: value) }
        return try writer.finish { EncodedRecord(copying: $0) }
    }
}
