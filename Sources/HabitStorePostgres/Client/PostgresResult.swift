import CPostgres
import Foundation
@_spi(Engines) import HabitStore

/// What a statement has answered: rows of values in binary form.
final class PostgresResult {
    private let result: OpaquePointer

    /// Takes over a result of libpq's.
    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    /// The number of rows.
    var count: Int { Int(PQntuples(result)) }

    /// Whether a page ends here that has been asked for by its rows, so that there may be more behind it.
    ///
    /// - Parameter bodies: the column by whose bytes it may have ended before.
    func isFull(_ rows: Int, bodies: Int?) -> Bool {
        guard count < rows else { return true }
        guard let bodies else { return false }
        return (0..<count).reduce(0) { $0 + (bytes($1, bodies)?.count ?? 0) } >= PostgresStatement.pageBytes
    }

    /// What was done, in the server's word: `COMMIT`.
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

    /// A whole number of a type's own length.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` for null and for another length: the table is not ours.
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
