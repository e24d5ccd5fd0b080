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
