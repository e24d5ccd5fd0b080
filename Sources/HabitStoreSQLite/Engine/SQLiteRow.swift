import Foundation
@_spi(Engines) import HabitStore

/// The current row of a statement as an entity's record; the rows of one walk share this object.
///
/// The file's contents are not trusted: a value of another kind, size or range throws an error with its location.
final class SQLiteRow: AttributeColumns {
    let statement: SQLiteStatement
    let table: SQLiteTable
    private let connection: SQLiteConnection
    private var encoder: SQLiteEncoder?

    init(_ statement: SQLiteStatement, _ table: SQLiteTable, _ connection: SQLiteConnection) {
        self.statement = statement
        self.table = table
        self.connection = connection
    }

    /// Lends the row to models and filters. Rewind the reader after the statement steps.
    func withReader<R>(_ body: (inout AttributeReader) throws -> R) rethrows -> R {
        try AttributeReader.withReader(of: self, layout: table.description.layout, body)
    }

    /// Whether the column holds NULL. Never called for links, which have no column.
    @inline(__always)
    override func isNull(_ field: Int) -> Bool { stored(field).isNull }

    func identifier() throws -> UUID { try uuid(0) }

    override func bool(_ field: Int) throws -> Bool {
        guard let number = stored(field).integer else { throw corrupt(field, "no truth value") }
        switch number {
        case 0: return false
        case 1: return true
        default: throw corrupt(field, "a number other than 0 or 1")
        }
    }

    override func int(_ field: Int) throws -> Int64 {
        guard let number = stored(field).integer else { throw corrupt(field, "no whole number") }
        return number
    }

    override func double(_ field: Int) throws -> Double { try double(stored(field), field) }

    override func optionalDouble(_ field: Int) throws -> Double? {
        let value = stored(field)
        return value.isNull ? nil : try double(value, field)
    }

    override func uuid(_ field: Int) throws -> UUID { try uuid(stored(field), field) }

    override func optionalUUID(_ field: Int) throws -> UUID? {
        let value = stored(field)
        return value.isNull ? nil : try uuid(value, field)
    }

    override func text(_ field: Int) throws -> String { try text(stored(field), field) }

    override func optionalText(_ field: Int) throws -> String? {
        let value = stored(field)
        return value.isNull ? nil : try text(value, field)
    }

    @inline(__always)
    private func stored(_ field: Int) -> SQLiteValue { statement.value(at: Int32(truncatingIfNeeded: field)) }

    @inline(__always)
    private func double(_ value: SQLiteValue, _ field: Int) throws -> Double {
        guard let number = value.real else { throw corrupt(field, "no number") }
        guard number.isFinite else { throw corrupt(field, "an infinite number") }
        return number == 0 ? 0 : number
    }

    @inline(__always)
    private func uuid(_ value: SQLiteValue, _ field: Int) throws -> UUID {
        guard let id = value.uuid else { throw corrupt(field, "no identifier of 16 bytes") }
        return id
    }

    @inline(__always)
    private func text(_ value: SQLiteValue, _ field: Int) throws -> String {
        guard let utf8 = value.utf8, let text = String.stored(utf8) else { throw try noText(field) }
        return text
    }

    /// Why there is no text: SQLite ran out of memory, or the column does not contain any.
    @inline(never)
    private func noText(_ field: Int) throws -> HabitStoreError {
        _ = try storedText(field)
        return corrupt(field, "no text in UTF-8")
    }

    /// The text as stored, in any normalization form.
    func storedText(_ field: Int) throws -> String {
        do {
            return try statement.text(at: Int32(truncatingIfNeeded: field))
        } catch let error as HabitStoreError where error.code == .corrupt {
            throw corrupt(field, "no text in UTF-8")
        }
    }

    override func data(_ field: Int) throws -> Data {
        do {
            return Data(try statement.blob(at: Int32(truncatingIfNeeded: field)))
        } catch let error as HabitStoreError where error.code == .corrupt {
            throw corrupt(field, "no blob")
        }
    }

    /// The list of texts as stored.
    func storedTexts(_ field: Int) throws -> [String] {
        guard let texts = SQLiteTextList.decode(try storedText(field)) else {
            throw corrupt(field, "no JSON array of texts")
        }
        return texts
    }

    override func texts(_ field: Int) throws -> [String] { try storedTexts(field).map { $0.normalizedToNFC() } }

    /// Links are in a separate table, and read on demand.
    override func links(_ field: Int) throws -> [UUID] {
        guard let links = table.links[field] else { throw corrupt(field, "no links") }
        let owner = try identifier()
        return try connection.withStatement(links.selectTargets) { statement in
            try statement.bind(owner, at: 1)
            var targets: [UUID] = []
            while try statement.step() {
                do {
                    targets.append(try statement.uuid(at: 0))
                } catch let error as HabitStoreError where error.code == .corrupt {
                    throw corrupt(field, "a link that is not an identifier of 16 bytes")
                }
            }
            return targets
        }
    }

    /// The value at a position, in the attribute's kind.
    override func value(_ field: Int) throws -> Value {
        let attribute = table.description.attributes[field]
        guard attribute.kind != .links else { return .links(try links(field)) }
        if isNull(field) {
            guard attribute.isOptional else { throw corrupt(field, "NULL") }
            return .null
        }
        switch attribute.kind {
        case .bool: return .bool(try bool(field))
        case .int: return .int(try int(field))
        case .double: return .double(try double(field))
        case .string: return .string(try text(field))
        case .date: return .date(Date(timeIntervalSinceReferenceDate: try double(field)))
        case .uuid: return .uuid(try uuid(field))
        case .data: return .data(try data(field))
        case .strings: return .strings(try texts(field))
        case .links: return .links(try links(field))
        }
    }

    override func encoded() throws -> EncodedRecord {
        let encoder = self.encoder ?? SQLiteEncoder(table.description)
        self.encoder = encoder
        return try encoder.encode(self)
    }

    @inline(never)
    func corrupt(_ field: Int, _ found: String) -> HabitStoreError {
        let attribute = table.description.attributes[field]
        // Without a readable identifier, the error cannot name the record.
        let isIdentified = field > 0 && statement.type(at: 0) == .blob && statement.bytes(at: 0).count == 16
        return HabitStoreError.damage(
            "\(table.description.name).\(attribute.name) holds \(found), where a \(attribute.kind.rawValue) belongs; "
                + "run `\(OperatorCommand.name) check`",
            at: .init(
                path: connection.path,
                entity: table.description.name,
                attribute: attribute.name,
                id: isIdentified ? try? statement.uuid(at: 0) : nil
            )
        )
    }
}

/// Encodes rows of one entity in a buffer that it reuses.
private final class SQLiteEncoder {
    private var writer: AttributeWriter
    private let kinds: [AttributeKind]
    private let isOptional: [Bool]

    init(_ entity: EntityDescription) {
        writer = AttributeWriter(layout: entity.layout, refusesLargeValues: false)
        kinds = entity.layout.kinds
        isOptional = entity.attributes.map(\.isOptional)
    }

    func encode(_ row: SQLiteRow) throws -> EncodedRecord { try encode(row, &writer) }

    /// Passing the writer avoids an access to the property for each attribute.
    private func encode(_ row: SQLiteRow, _ writer: inout AttributeWriter) throws -> EncodedRecord {
        writer.begin()
        for field in 0..<kinds.count {
            if kinds[field] != .links, row.isNull(field) {
                guard isOptional[field] else { throw row.corrupt(field, "NULL") }
                writer.appendNull()
            } else {
                try append(row, field, &writer)
            }
        }
        return try writer.finish { EncodedRecord(copying: $0) }
    }

    @inline(__always)
    private func append(_ row: SQLiteRow, _ field: Int, _ writer: inout AttributeWriter) throws {
        switch kinds[field] {
        case .bool: writer.append(try row.bool(field))
        case .int: writer.append(Int(try row.int(field)))
        case .double: try writer.append(try row.double(field))
        case .string:
            let column = Int32(truncatingIfNeeded: field)
            if row.statement.type(at: column) == .text, writer.append(ascii: row.statement.bytes(at: column)) { return }
            writer.append(try row.storedText(field))
        case .date: try writer.append(Date(timeIntervalSinceReferenceDate: try row.double(field)))
        case .uuid: writer.append(try row.uuid(field))
        case .data: writer.append(try row.data(field))
        case .strings: writer.append(try row.storedTexts(field))
        // The table's key makes them unique and sorted.
        case .links: writer.append(ascendingLinks: try row.links(field))
        }
    }
}

extension SQLiteStatement {
    /// Binds all columns of a record in order.
    func bind(_ record: RecordView, _ table: SQLiteTable) throws {
        for (index, position) in table.columnPositions.enumerated() {
            try bind(record, position, table.kinds[position], at: Int32(index + 1))
        }
    }

    /// Binds one attribute of a record in its column's form. Texts, bytes and identifiers are not copied: the statement runs, or is
    /// cleared, before the record's memory is reused.
    func bind(_ record: RecordView, _ position: Int, _ kind: AttributeKind, at index: Int32) throws {
        if record.isNull(at: position) { return try bindNull(at: index) }
        switch kind {
        case .data, .uuid: try bindInPlace(try record.rawBytes(at: position), at: index)
        case .string:
            let utf8 = try record.rawBytes(at: position)
            // Bytes that may not be UTF-8 are converted to a text first.
            guard utf8.isASCII else { return try bind(try record.value(at: position), at: index) }
            try bindInPlace(utf8: utf8, at: index)
        case .double, .date:
            let bits = try record.rawBytes(at: position).loadUnaligned(as: UInt64.self)
            try bind(Double(bitPattern: UInt64(littleEndian: bits)), at: index)
        case .bool, .int, .strings, .links: try bind(try record.value(at: position), at: index)
        }
    }
}
