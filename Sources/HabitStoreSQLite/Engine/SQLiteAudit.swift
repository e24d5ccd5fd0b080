internal import CSQLite
import Foundation
@_spi(Engines) import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

@_spi(Engines) extension SQLiteSnapshot {
    /// The records of an entity in a range of identifiers, decoded by a reader that no other part shares.
    public func auditCursor(entity: Int, in range: IdentifierRange) throws -> any AuditCursor {
        let description = tables[entity].description
        let links = try description.attributes.filter { $0.kind == .links }.map { attribute in
            try SQLiteAuditLinks(connection, table: "\(description.name)_\(attribute.name)", range)
        }
        return try SQLiteAudit(connection, description, links, range, textIsCanonical: textIsCanonical())
    }
}

/// Walks a table in key order and writes each row's canonical form straight from SQLite's columns.
///
/// Deliberately independent of ``SQLiteRow`` and ``SQLiteTable``, which all other readers use: it has its own SQL, and goes by the
/// type that a column has, not by the one that it should have.
private final class SQLiteAudit: AuditCursor {
    private let statement: SQLiteStatement
    private let row: OpaquePointer
    private let kinds: [AttributeKind]
    private let links: [SQLiteAuditLinks]
    /// The entity, for messages.
    private let name: String
    private let textIsCanonical: Bool
    private let form = CanonicalForm()

    init(
        _ connection: SQLiteConnection,
        _ entity: EntityDescription,
        _ links: [SQLiteAuditLinks],
        _ range: IdentifierRange,
        textIsCanonical: Bool
    ) throws {
        let columns = entity.attributes.filter { $0.kind != .links }.map { "\"\(sqlName($0.name))\"" }
        let condition = range == .all ? "" : " WHERE \"id\" >= ?1 AND \"id\" <= ?2"
        statement = try connection.prepare(
            "SELECT \(columns.joined(separator: ", ")) FROM \"\(sqlName(entity.name))\"\(condition) ORDER BY \"id\""
        )
        if range != .all { try statement.bind(range) }
        row = statement.pointer
        kinds = entity.attributes.map(\.kind)
        name = entity.name
        self.links = links
        self.textIsCanonical = textIsCanonical
    }

    var identifier: UUID { form.identifier ?? IdentifierRange.all.first }

    var canonical: UnsafeRawBufferPointer { form.bytes }

    func next() throws -> Bool {
        guard try statement.step() else { return false }
        form.begin()
        var column: Int32 = 0
        var nextLinks = 0
        for place in 0..<kinds.count {
            if kinds[place] == .links {
                form.append(links: try links[nextLinks].take(of: identifier))
                nextLinks += 1
            } else {
                write(kinds[place], column)
                column &+= 1
            }
        }
        guard form.bytes[0] == CanonicalForm.Tag.uuid.rawValue else {
            throw HabitStoreError.damage(
                "a \(name) has an identifier that is not 16 bytes long; run `\(OperatorCommand.name) check`",
                at: .init(path: statement.handle.path, entity: name)
            )
        }
        return true
    }

    @inline(__always)
    private func write(_ kind: AttributeKind, _ column: Int32) {
        switch (kind, sqlite3_column_type(row, column)) {
        case (_, SQLITE_NULL): form.appendNull()
        case (.bool, SQLITE_INTEGER):
            let number = sqlite3_column_int64(row, column)
            if number == 0 || number == 1 { form.append(bool: number == 1) } else { writeInvalid(column) }
        case (.int, SQLITE_INTEGER): form.append(int: sqlite3_column_int64(row, column))
        case (.double, SQLITE_FLOAT): writeNumber(column, .double)
        case (.date, SQLITE_FLOAT): writeNumber(column, .date)
        case (.uuid, SQLITE_BLOB):
            let bytes = bytes(column)
            if bytes.count == 16, let start = bytes.baseAddress {
                form.append(identifierAt: start)
            } else {
                form.append(bytes: bytes, tag: .invalid)
            }
        case (.data, SQLITE_BLOB): form.append(bytes: bytes(column), tag: .data)
        case (.string, SQLITE_TEXT): writeText(column)
        case (.strings, SQLITE_TEXT): writeTexts(column)
        default: writeInvalid(column)
        }
    }

    private func writeNumber(_ column: Int32, _ tag: CanonicalForm.Tag) {
        let number = sqlite3_column_double(row, column)
        // SQLite stores the number 0 as an integer, which has no negative zero.
        number.isFinite ? form.append(bits: number.bitPattern, tag: tag) : writeInvalid(column)
    }

    private func writeText(_ column: Int32) {
        let bytes = bytes(column)
        if textIsCanonical || bytes.allSatisfy({ $0 < 0x80 }) { return form.append(bytes: bytes, tag: .text) }
        guard let text = String(validating: bytes, as: UTF8.self) else { return writeInvalid(column) }
        var canonical = text.normalizedToNFC()
        canonical.withUTF8 { form.append(bytes: UnsafeRawBufferPointer($0), tag: .text) }
    }

    private func writeTexts(_ column: Int32) {
        guard let json = try? JSONSerialization.jsonObject(with: Data(bytes(column))),
            let texts = json as? [String]
        else { return writeInvalid(column) }
        form.append(texts: textIsCanonical ? texts : texts.map { $0.normalizedToNFC() })
    }

    /// Writes the raw bytes of an invalid value, so that two stores with the same invalid value are equal.
    private func writeInvalid(_ column: Int32) { form.append(bytes: bytes(column), tag: .invalid) }

    @inline(__always)
    private func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(row, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row, column)))
    }
}

/// The links of one attribute in the order of their owners, read along with the owners.
private final class SQLiteAuditLinks {
    private let statement: SQLiteStatement
    private var next: (owner: UUID, target: UUID)?
    private let table: String

    init(_ connection: SQLiteConnection, table: String, _ range: IdentifierRange) throws {
        let condition = range == .all ? "" : " WHERE owner >= ?1 AND owner <= ?2"
        self.table = table
        statement = try connection.prepare(
            "SELECT owner, target FROM \"\(sqlName(table))\"\(condition) ORDER BY owner, target"
        )
        if range != .all { try statement.bind(range) }
        try step()
    }

    /// Reads the links of an owner. Skips those of earlier owners, which have no record.
    func take(of owner: UUID) throws -> [UUID] {
        var targets: [UUID] = []
        while let link = next, !owner.isBefore(link.owner) {
            if link.owner == owner { targets.append(link.target) }
            try step()
        }
        return targets
    }

    private func step() throws {
        guard try statement.step() else {
            next = nil
            return
        }
        guard let owner = statement.auditedIdentifier(at: 0), let target = statement.auditedIdentifier(at: 1) else {
            throw HabitStoreError.damage(
                "a link in \(table) has an end that is not 16 bytes long; run `\(OperatorCommand.name) check`",
                at: .init(path: statement.handle.path)
            )
        }
        next = (owner, target)
    }
}

/// A name, escaped for use between quotes.
private func sqlName(_ name: String) -> String {
    name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
}

extension SQLiteStatement {
    /// The identifier in a column; nil for anything but a blob of 16 bytes.
    @inline(__always)
    fileprivate func auditedIdentifier(at column: Int32) -> UUID? {
        guard sqlite3_column_type(pointer, column) == SQLITE_BLOB, let bytes = sqlite3_column_blob(pointer, column),
            sqlite3_column_bytes(pointer, column) == 16
        else { return nil }
        return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }

    fileprivate func bind(_ range: IdentifierRange) throws {
        try bind(range.first, at: 1)
        try bind(range.last, at: 2)
    }
}
