import CLMDB
import Foundation
import HabitStore

/// A write transaction of liblmdb that uses the names of databases.
package final class RawTransaction {
    /// The kind of a database.
    package enum Form: CaseIterable, Sendable {
        case ordinary, reversedKeys, duplicates

        fileprivate var flags: Int32 {
            switch self {
            case .ordinary: 0
            case .reversedKeys: MDB_REVERSEKEY
            case .duplicates: MDB_DUPSORT
            }
        }
    }

    /// The name of the database that contains the others.
    package static let main = ""

    /// A key and its value.
    package typealias Item = (key: [UInt8], value: [UInt8])

    private let transaction: OpaquePointer?
    private var handles: [String: MDB_dbi] = [:]

    init(_ transaction: OpaquePointer?) { self.transaction = transaction }

    /// Creates a database.
    package func make(_ name: String, _ form: Form = .ordinary) throws {
        var handle: MDB_dbi = 0
        try RawEnvironment.check(mdb_dbi_open(transaction, name, UInt32(MDB_CREATE | form.flags), &handle))
        handles[name] = handle
    }

    /// Removes a database; this transaction can no longer name it.
    package func drop(_ name: String) throws {
        try RawEnvironment.check(mdb_drop(transaction, try handle(name), 1))
        handles[name] = nil
    }

    /// The value under a key.
    package func get(_ database: String, _ key: [UInt8]) throws -> [UInt8]? {
        let handle = try handle(database)
        return try withValue(key) { name in
            var value = MDB_val()
            let result = mdb_get(transaction, handle, &name, &value)
            guard result != MDB_NOTFOUND else { return nil }
            try RawEnvironment.check(result)
            return Self.bytes(value)
        }
    }

    /// Puts a value under a key.
    package func put(_ database: String, _ key: [UInt8], _ value: [UInt8], replaces: Bool = true) throws {
        let handle = try handle(database)
        try withValue(key) { name in
            try withValue(value) { data in
                try RawEnvironment.check(
                    mdb_put(transaction, handle, &name, &data, replaces ? 0 : UInt32(MDB_NOOVERWRITE))
                )
            }
        }
    }

    /// Removes an existing key.
    package func remove(_ database: String, _ key: [UInt8]) throws {
        let handle = try handle(database)
        try withValue(key) { name in try RawEnvironment.check(mdb_del(transaction, handle, &name, nil)) }
    }

    /// All items of a database in order.
    package func items(_ database: String) throws -> [Item] {
        var cursor: OpaquePointer?
        try RawEnvironment.check(mdb_cursor_open(transaction, try handle(database), &cursor))
        defer { mdb_cursor_close(cursor) }
        var items: [Item] = []
        var (key, value) = (MDB_val(), MDB_val())
        while true {
            let result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
            guard result != MDB_NOTFOUND else { return items }
            try RawEnvironment.check(result)
            items.append((Self.bytes(key), Self.bytes(value)))
        }
    }

    /// The number of the page with a database's first record.
    func firstPage(of database: String) throws -> UInt64 {
        var cursor: OpaquePointer?
        try RawEnvironment.check(mdb_cursor_open(transaction, try handle(database), &cursor))
        defer { mdb_cursor_close(cursor) }
        var (key, value, figures) = (MDB_val(), MDB_val(), MDB_stat())
        try RawEnvironment.check(mdb_cursor_get(cursor, &key, &value, MDB_FIRST))
        try RawEnvironment.check(mdb_stat(transaction, try handle(database), &figures))
        // A page begins with its number, and keys are in leaves.
        let offset = UInt(bitPattern: key.mv_data) % UInt(figures.ms_psize)
        return (key.mv_data - Int(offset)).load(as: UInt64.self)
    }

    private func handle(_ name: String) throws -> MDB_dbi {
        if let handle = handles[name] { return handle }
        var handle: MDB_dbi = 0
        try RawEnvironment.check(mdb_dbi_open(transaction, name == Self.main ? nil : name, 0, &handle))
        handles[name] = handle
        return handle
    }

    private func withValue<R>(_ bytes: [UInt8], _ body: (inout MDB_val) throws -> R) rethrows -> R {
        var copy = bytes
        return try copy.withUnsafeMutableBytes { bytes in
            var value = MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
            return try body(&value)
        }
    }

    private static func bytes(_ value: MDB_val) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
    }
}
