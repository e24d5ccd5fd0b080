import CYardstick
import Foundation
import HabitStorePostgres

/// The C program's connection to a server.
final class YardstickConnection {
    private let connection: OpaquePointer

    init(_ uri: String) throws {
        var made: OpaquePointer?
        let result = cy_postgres_open(uri, &made)
        guard let made else { throw BenchError("no memory for a connection") }
        connection = made
        try require(result)
    }

    deinit { cy_postgres_close(connection) }

    private func require(_ result: Int32) throws {
        guard result == 0 else {
            throw BenchError("the yardstick failed: \(String(cString: cy_postgres_message(connection)))")
        }
    }

    /// Runs one of the benchmark's own statements.
    ///
    /// - Returns: its number; 0 without one.
    @discardableResult
    func number(_ statement: String) throws -> Int {
        var number: Int64 = 0
        try require(cy_postgres_number(connection, statement, &number))
        return Int(number)
    }

    // MARK: Looking up

    /// The number of a record's entity.
    func entity(of record: UUID, in store: UUID) throws -> Int16 {
        var entity: Int16 = 0
        try require(cy_postgres_entity(connection, store.byteList, record.byteList, &entity))
        return entity
    }

    /// The range from one record to another in the index on habit and date.
    func walk(_ entity: Int16, from first: UUID, to last: UUID, in store: UUID) throws -> YardstickWalk {
        var walk: OpaquePointer?
        let result = cy_postgres_walk_open(connection, store.byteList, entity, first.byteList, last.byteList, &walk)
        guard let walk else { throw BenchError("no memory for a range") }
        let made = YardstickWalk(walk)
        try require(result)
        return made
    }

    /// The rows that a store's last write left for the records that it wrote.
    func rows(_ entity: Int16, _ ids: [UUID], in store: UUID) throws -> YardstickRows {
        var rows: OpaquePointer?
        let bytes = ids.flatMap(\.byteList)
        let result = cy_postgres_rows_open(connection, store.byteList, entity, bytes, ids.count, &rows)
        guard let rows else { throw BenchError("no memory for rows") }
        let made = YardstickRows(rows)
        try require(result)
        return made
    }

    // MARK: Measured operations

    func read(_ id: UUID, _ entity: Int16, in store: UUID) throws -> UInt64 {
        var sum: UInt64 = 0
        try require(cy_postgres_read(connection, store.byteList, entity, id.byteList, &sum))
        return sum
    }

    func range(_ walk: YardstickWalk, in store: UUID) throws -> UInt64 {
        var sum: UInt64 = 0
        try require(cy_postgres_range(connection, store.byteList, walk.pointer, &sum))
        return sum
    }

    func insert(_ rows: YardstickRows, in store: UUID) throws {
        try require(cy_postgres_insert(connection, store.byteList, rows.pointer))
    }

    func update(_ rows: YardstickRows, in store: UUID) throws {
        try require(cy_postgres_update(connection, store.byteList, rows.pointer))
    }

    /// The part of a pgbench script in which one of its clients updates a record.
    func script(_ rows: YardstickRows, in store: UUID, client: Int) throws -> String {
        var text: UnsafeMutablePointer<CChar>?
        defer { free(text) }
        try require(cy_postgres_script(connection, store.byteList, rows.pointer, Int32(client), &text))
        return text.map { String(cString: $0) } ?? ""
    }
}

/// A range of an index.
final class YardstickWalk {
    fileprivate let pointer: OpaquePointer

    fileprivate init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { cy_postgres_walk_close(pointer) }
}

/// The values of the statements that write some records.
final class YardstickRows {
    fileprivate let pointer: OpaquePointer

    fileprivate init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { cy_postgres_rows_close(pointer) }
}

extension UUID {
    fileprivate var byteList: [UInt8] { withUnsafeBytes(of: uuid) { Array($0) } }
}
