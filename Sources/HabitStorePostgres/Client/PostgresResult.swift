import CPostgres
import Foundation
@_spi(Engines) import HabitStore

/// A statement's answer: rows of values in binary form.
final class PostgresResult {
    private let result: OpaquePointer

    /// Takes ownership of a result of libpq.
    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    /// The number of rows.
    var count: Int { Int(PQntuples(result)) }

    /// Whether this page is full, so that more rows may follow.
    ///
    /// - Parameter bodies: the column whose size may have ended the page earlier.
    func isFull(_ rows: Int, bodies: Int?) -> Bool {
        guard count < rows else { return true }
        guard let bodies else { return false }
        return (0..<count).reduce(0) { $0 + (bytes($1, bodies)?.count ?? 0) } >= PostgresStatement.pageBytes
    }

    /// The server's command tag, such as `COMMIT`.
    var command: String { String(cString: PQcmdStatus(result)) }

    /// The bytes of a value, nil for null; valid as long as the result.
    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
        let (row, column) = (Int32(row), Int32(column))
        guard PQgetisnull(result, row, column) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: UnsafeRawPointer(PQgetvalue(result, row, column)),
            count: Int(PQgetlength(result, row, column))
        )
    }

    /// An integer of the type's size.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` for null and for another size: the table is not ours.
    func number<Number: FixedWidthInteger>(_ row: Int, _ column: Int, as type: Number.Type) throws -> Number {
        guard let bytes = bytes(row, column), bytes.count == MemoryLayout<Number>.size else { throw Self.foreign }
        return Number(bigEndian: bytes.loadUnaligned(as: Number.self))
    }

    /// An identifier.
    func uuid(_ row: Int, _ column: Int) throws -> UUID {
        guard let bytes = bytes(row, column), bytes.count == 16 else { throw Self.foreign }
        return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }

    /// A text.
    func text(_ row: Int, _ column: Int) throws -> String {
        guard let bytes = bytes(row, column),
            let text = String(validating: bytes.bindMemory(to: UInt8.self), as: UTF8.self)
        else { throw Self.foreign }
        return text
    }

    private static var foreign: HabitStoreError {
        HabitStoreError.damage("a table on the server holds a value of another type than ours")
    }
}

/// A parameter of a statement, in the binary form of its type; <https://www.postgresql.org/docs/current/protocol-overview.html>.
enum PostgresValue {
    case uuid(UUID)
    case int2(Int16)
    case int4(Int32)
    case int8(Int64)
    case text(String)
    case bytes([UInt8])
    case uuids([UUID])
    case int2s([Int16])
    case int4s([Int32])
    case int8s([Int64])
    case texts([String])
    /// Lists of bytes; an element may be null.
    case byteLists([[UInt8]?])

    /// The type numbers of array elements, unchanged since PostgreSQL 8.
    private enum ElementType {
        static let bytea: Int32 = 17
        static let int8: Int32 = 20
        static let int2: Int32 = 21
        static let int4: Int32 = 23
        static let text: Int32 = 25
        static let uuid: Int32 = 2_950
    }

    /// Appends the value's bytes.
    func append(to bytes: inout [UInt8]) {
        switch self {
        case .uuid(let id): Self.append(id, &bytes)
        case .int2(let number): Self.append(number, &bytes)
        case .int4(let number): Self.append(number, &bytes)
        case .int8(let number): Self.append(number, &bytes)
        case .text(let text): bytes.append(contentsOf: text.utf8)
        case .bytes(let source): bytes.append(contentsOf: source)
        case .uuids(let ids): Self.array(ids, of: ElementType.uuid, &bytes) { Self.append($0, &$1) }
        case .int2s(let numbers): Self.array(numbers, of: ElementType.int2, &bytes) { Self.append($0, &$1) }
        case .int4s(let numbers): Self.array(numbers, of: ElementType.int4, &bytes) { Self.append($0, &$1) }
        case .int8s(let numbers): Self.array(numbers, of: ElementType.int8, &bytes) { Self.append($0, &$1) }
        case .texts(let texts): Self.array(texts, of: ElementType.text, &bytes) { $1.append(contentsOf: $0.utf8) }
        case .byteLists(let lists): Self.lists(lists, &bytes)
        }
    }

    /// The array header: the number of dimensions, whether there are nulls, the elements' type, their number, and the first index.
    /// Each element follows after its length.
    private static func header(_ count: Int, of type: Int32, hasNulls: Bool, _ bytes: inout [UInt8]) {
        append(Int32(count == 0 ? 0 : 1), &bytes)
        append(Int32(hasNulls ? 1 : 0), &bytes)
        append(type, &bytes)
        guard count > 0 else { return }
        append(Int32(count), &bytes)
        append(Int32(1), &bytes)
    }

    private static func array<Element>(
        _ elements: [Element],
        of type: Int32,
        _ bytes: inout [UInt8],
        _ write: (Element, inout [UInt8]) -> Void
    ) {
        header(elements.count, of: type, hasNulls: false, &bytes)
        for element in elements {
            let start = bytes.count
            append(Int32(0), &bytes)
            write(element, &bytes)
            let length = Int32(bytes.count - start - 4)
            bytes.withUnsafeMutableBytes { $0.storeBytes(of: length.bigEndian, toByteOffset: start, as: Int32.self) }
        }
    }

    private static func lists(_ lists: [[UInt8]?], _ bytes: inout [UInt8]) {
        header(lists.count, of: ElementType.bytea, hasNulls: lists.contains { $0 == nil }, &bytes)
        for list in lists {
            append(Int32(list?.count ?? -1), &bytes)
            if let list { bytes.append(contentsOf: list) }
        }
    }

    private static func append(_ number: some FixedWidthInteger, _ bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private static func append(_ id: UUID, _ bytes: inout [UInt8]) {
        withUnsafeBytes(of: id.uuid) { bytes.append(contentsOf: $0) }
    }
}
