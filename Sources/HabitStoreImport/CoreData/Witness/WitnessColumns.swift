import Foundation
import HabitStore

/// Columns of an entity's rows, with values converted by SQLite.
struct WitnessColumns {
    private let file: CoreDataFile
    private let entity: CoreDataEntity
    /// The keys to read.
    private let range: ClosedRange<Int64>

    init(_ file: CoreDataFile, _ entity: CoreDataEntity, _ range: ClosedRange<Int64> = .min ... .max) {
        self.file = file
        self.entity = entity
        self.range = range
    }

    private var from: String { "FROM \"\(entity.table)\" AS r WHERE \(isMeant)" }

    private var isMeant: String {
        let inRange = "r.Z_PK >= \(Self.literal(range.lowerBound)) AND r.Z_PK <= \(range.upperBound)"
        guard file.tables.tablesWithUnusableKeys.contains(entity.table) else {
            return "r.Z_ENT = \(entity.number) AND \(inRange)"
        }
        // Of several rows with the same key, the first has it; other types than integers are not keys.
        let first = "r.rowid IN (SELECT min(d.rowid) FROM \"\(entity.table)\" AS d GROUP BY d.Z_PK)"
        return "r.Z_ENT = \(entity.number) AND \(inRange) AND typeof(r.Z_PK) = 'integer' AND \(first)"
    }

    /// SQL parses the least integer as the negation of one that is too large.
    private static func literal(_ number: Int64) -> String {
        number == .min ? "(-9223372036854775807 - 1)" : "\(number)"
    }

    /// The first keys of the range.
    func keys(limit: Int) throws -> [Int64] {
        let rows = try file.connection.prepare("SELECT r.Z_PK \(from) ORDER BY r.Z_PK LIMIT \(limit)")
        var keys: [Int64] = []
        while try rows.step() { keys.append(rows.optionalInt(0) ?? 0) }
        return keys
    }

    /// The values of a column, by the rows' keys, without those of other types.
    func values(_ column: String, _ type: CoreDataAttributeType, as kind: AttributeKind) throws -> [Int64: Value] {
        let name = "r.\"\(column.replacingOccurrences(of: "\"", with: "\"\""))\""
        let (expression, condition) = Self.expression(name, type, kind)
        let rows = try file.connection.prepare(
            "SELECT r.Z_PK, \(expression) \(from) AND \(name) IS NOT NULL AND (\(condition))"
        )
        var result: [Int64: Value] = [:]
        while try rows.step() {
            guard let key = rows.optionalInt(0), let value = Self.value(rows.value(1), kind) else { continue }
            result[key] = value
        }
        return result
    }

    /// The integers in a column, by the rows' keys, without other values.
    func integers(_ column: String) throws -> [Int64: Int64] {
        let name = "r.\"\(column.replacingOccurrences(of: "\"", with: "\"\""))\""
        let rows = try file.connection.prepare("SELECT r.Z_PK, \(name) \(from) AND typeof(\(name)) = 'integer'")
        var result: [Int64: Int64] = [:]
        while try rows.step() {
            guard let key = rows.optionalInt(0), let number = rows.optionalInt(1) else { continue }
            result[key] = number
        }
        return result
    }

    /// The SQL expression that converts a column, and the condition for the rows it applies to.
    private static func expression(
        _ name: String,
        _ type: CoreDataAttributeType,
        _ kind: AttributeKind
    ) -> (String, String) {
        let isNumber = "typeof(\(name)) IN ('integer', 'real')"
        let isWhole = "typeof(\(name)) = 'integer' OR (typeof(\(name)) = 'real' AND \(name) = CAST(\(name) AS INTEGER))"
        switch kind {
        case .bool: return ("CAST(\(name) AS INTEGER)", "\(isNumber) AND \(name) IN (0, 1)")
        case .int:
            let isWritten = "typeof(\(name)) = 'text' AND CAST(CAST(\(name) AS INTEGER) AS TEXT) = \(name)"
            return ("CAST(\(name) AS INTEGER)", "\(isWhole) OR (\(isWritten))")
        case .double, .date:
            // Skips integers that no double represents. The upper limit is excluded because SQLite's casts saturate.
            let isExact = "CAST(CAST(\(name) AS REAL) AS INTEGER) = \(name) AND \(name) < 9223372036854775807"
            let isFinite = "typeof(\(name)) = 'real' AND \(name) < 9e999 AND \(name) > -9e999"
            return ("CAST(\(name) AS REAL)", "(\(isFinite)) OR (typeof(\(name)) = 'integer' AND \(isExact))")
        case .string:
            return (string(name, type), "typeof(\(name)) IN ('text', 'integer') OR \(type == .uuid ? "1" : "0")")
        case .uuid: return ("hex(\(name))", "typeof(\(name)) = 'blob' AND length(\(name)) = 16")
        case .data: return ("CAST(\(name) AS BLOB)", "typeof(\(name)) IN ('blob', 'text')")
        case .strings, .links: return ("CAST(\(name) AS TEXT)", "typeof(\(name)) IN ('blob', 'text')")
        }
    }

    private static func string(_ name: String, _ type: CoreDataAttributeType) -> String {
        guard type == .uuid else { return "CAST(\(name) AS TEXT)" }
        let parts = ["1, 8", "9, 4", "13, 4", "17, 4", "21, 12"].map { "substr(hex(\(name)), \($0))" }
        return parts.joined(separator: " || '-' || ")
    }

    private static func value(_ stored: SourceValue, _ kind: AttributeKind) -> Value? {
        switch (stored, kind) {
        case (.int(let number), .bool): return .bool(number == 1)
        case (.int(let number), .int): return .int(number)
        case (.real(let number), .double): return try? Value.double(number).normalized()
        case (.real(let number), .date):
            return try? Value.date(Date(timeIntervalSinceReferenceDate: number)).normalized()
        case (.text(let text), .string): return try? Value.string(text).normalized()
        case (.malformedText(let bytes), .string):
            return try? Value.string(String(decoding: bytes, as: UTF8.self)).normalized()
        case (.text(let digits), .uuid):
            let bytes = stride(from: 0, to: digits.utf8.count, by: 2).compactMap { place in
                UInt8(digits.dropFirst(place).prefix(2), radix: 16)
            }
            return bytes.count == 16 ? .uuid(NSUUID(uuidBytes: bytes) as UUID) : nil
        case (.blob(let bytes), .data): return .data(bytes)
        case (.text(let text), .strings):
            let list = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String]
            return list.flatMap { try? Value.strings($0).normalized() }
        default: return nil
        }
    }

    /// The keys that rows are linked to, by the rows' keys, in order if there is one.
    func links(_ relationship: CoreDataRelationship) throws -> [Int64: [Int64]] {
        guard case .table(let table, let here, let there) = relationship.storage else { return [:] }
        let order = relationship.orderColumn.map { "l.\"\($0)\"" } ?? "NULL"
        var result: [Int64: [Int64]] = [:]
        var known: [Int64: Set<Int64>] = [:]
        func add(_ left: String, _ right: String) throws {
            let rows = try file.connection.prepare(
                "SELECT r.Z_PK, l.\"\(right)\" FROM \"\(table)\" AS l JOIN \"\(entity.table)\" AS r ON r.Z_PK = l.\"\(left)\" "
                    + "WHERE \(isMeant) AND typeof(l.\"\(right)\") = 'integer' ORDER BY \(order), l.\"\(right)\""
            )
            while try rows.step() {
                guard let from = rows.optionalInt(0), let to = rows.optionalInt(1) else { continue }
                if known[from, default: []].insert(to).inserted { result[from, default: []].append(to) }
            }
        }
        try add(here, there)
        if here == "REFLEXIVE" { try add(there, here) }
        return result
    }
}
