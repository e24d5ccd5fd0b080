import Foundation
import HabitStore
import JSONText

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

/// Compares a cell of a file with values of a store or an attachment.
package enum WitnessCell {
    // MARK: Comparing with a store

    /// Whether a store's value equals the cell: the same number, the same text in NFC, or the same bytes.
    static func equals(_ cell: SourceValue, _ value: Value, _ file: CoreDataFile) -> Bool {
        switch (cell, value) {
        case (.int(let number), .int(let other)): return number == other
        case (.int(let number), .bool(let flag)): return number == (flag ? 1 : 0)
        case (.int(let number), .double(let other)): return Int64(exactly: other) == number
        case (.int(let number), .date(let date)): return Int64(exactly: date.timeIntervalSinceReferenceDate) == number
        case (.int(let number), .string(let text)):
            return text == String(number) || number == 1 && text == "true" || number == 0 && text == "false"
        case (.int(let number), .data(let bytes)): return bytes == Data(String(number).utf8)
        case (.real(let number), .double(let other)): return number == other
        case (.real(let number), .date(let date)): return number == date.timeIntervalSinceReferenceDate
        case (.real(let number), .int(let other)): return Int64(exactly: number) == other
        case (.real(let number), .bool(let flag)): return number == (flag ? 1 : 0)
        case (.real(let number), .string(let text)): return text == String(number)
        case (.real(let number), .data(let bytes)): return bytes == Data(String(number).utf8)
        case (.text(let text), _): return equals(text, value)
        case (.blob(let bytes), _): return equals(bytes, value, file)
        default: return false
        }
    }

    private static func equals(_ text: String, _ value: Value) -> Bool {
        switch value {
        // Swift considers canonically equivalent texts equal.
        case .string(let other): return text == other
        case .uuid(let id): return UUID(uuidString: text) == id
        case .int(let number): return text == String(number)
        case .double(let number): return Double(text) == number
        case .date(let date): return Double(text) == date.timeIntervalSinceReferenceDate
        case .data(let bytes): return bytes == Data(text.utf8)
        case .strings(let texts): return texts == [text] || texts == list(Data(text.utf8))
        default: return false
        }
    }

    private static func equals(_ bytes: Data, _ value: Value, _ file: CoreDataFile) -> Bool {
        switch value {
        case .data(let other):
            if other == bytes { return true }
            if bytes.first == 1, other.count == bytes.count - 1 { return other.elementsEqual(bytes.dropFirst()) }
            return externalName(bytes).flatMap { externalBytes($0, of: file) } == other
        case .uuid(let id): return identifier(bytes) == id
        case .string(let text): return identifier(bytes)?.uuidString == text
        case .strings(let texts): return list(bytes) == texts
        default: return false
        }
    }

    private static func list(_ bytes: Data) -> [String]? {
        (try? JSONSerialization.jsonObject(with: bytes)) as? [String]
    }

    private static func identifier(_ bytes: Data) -> UUID? {
        bytes.count == 16 ? NSUUID(uuidBytes: Array(bytes)) as UUID : nil
    }

    // MARK: External data

    /// The name of an external file, which follows a 2.
    static func externalName(_ bytes: Data) -> String? {
        guard bytes.first == 2, bytes.count == 37 || bytes.count == 38 && bytes.last == 0 else { return nil }
        let name = String(decoding: bytes.dropFirst().prefix(36), as: UTF8.self)
        return UUID(uuidString: name).map { _ in name }
    }

    /// The contents of a store's external file.
    static func externalBytes(_ name: String, of file: CoreDataFile) -> Data? {
        let store = URL(fileURLWithPath: file.path).resolvingSymlinksInPath()
        let folder = ".\(store.deletingPathExtension().lastPathComponent)_SUPPORT"
        let path = store.deletingLastPathComponent().appendingPathComponent("\(folder)/_EXTERNAL_DATA/\(name)")
        return try? Data(contentsOf: path)
    }

    /// Whether a text has characters excluded from composition, which NFC replaces.
    package static func hasReplacedCharacters(_ text: String) -> Bool {
        text.unicodeScalars.contains { !$0.isASCII && $0.properties.isFullCompositionExclusion }
    }

    // MARK: Comparing with an attachment

    /// A textual form of the stored cell, as in a row that was kept whole.
    package static func words(_ cell: SourceValue) -> String {
        switch cell {
        case .null: return "null"
        case .int(let number): return words(number)
        case .real(let number): return number.isFinite ? words(number) : "t:\(number)"
        case .text(let text): return "t:\(text)"
        case .blob(let bytes), .malformedText(let bytes): return "b:\(bytes.base64EncodedString())"
        }
    }

    private static func words(_ number: Int64) -> String { "n:\(number)" }

    private static func words(_ number: Double) -> String { Int64(exactly: number).map(words) ?? "n:\(number)" }

    /// The textual forms of a cell and of what an attribute may have made from it.
    static func forms(_ cell: SourceValue, _ file: CoreDataFile) -> [String] {
        var result = [words(cell)]
        switch cell {
        case .null: break
        case .int(let number):
            result += ["t:\(number)", words(.blob(Data(String(number).utf8)))]
        case .real(let number):
            result += ["t:\(number)", words(.blob(Data(String(number).utf8)))]
        case .text(let text):
            if let number = Double(text), number.isFinite { result.append(Int64(text).map(words) ?? words(number)) }
            if let id = UUID(uuidString: text) { result.append("t:\(id.uuidString)") }
            result.append(words(.blob(Data(text.utf8))))
        case .malformedText: break
        case .blob(let bytes):
            if let id = identifier(bytes) { result.append("t:\(id.uuidString)") }
            if bytes.first == 1 { result.append(words(.blob(Data(bytes.dropFirst())))) }
            if let beside = externalName(bytes).flatMap({ externalBytes($0, of: file) }) {
                result.append(words(.blob(beside)))
            }
        }
        return result
    }

    /// The textual form of a value in an attachment; nil if it has none.
    package static func words(json value: JSON) -> String? {
        switch value {
        case .string(let text): "t:\(text)"
        case .int(let number): words(number)
        case .double(let number): words(number)
        case .object(let members):
            members["base64"]?.text.map { "b:\($0)" } ?? members["secondsSince2001"]?.number.map { words($0) }
        case .null, .bool, .array: nil
        }
    }
}
