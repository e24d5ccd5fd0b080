import CLMDB
import Foundation
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// liblmdb without the engine's checks: writes fixtures and planted changes unaltered.
package final class RawEnvironment {
    /// Puts a value under a key of a named database.
    package typealias Put = (_ database: String, _ key: [UInt8], _ value: [UInt8]) throws -> Void

    private static let mapBytes = 64 << 20

    private var environment: OpaquePointer?
    private let path: String

    /// - Parameter isDurable: whether a commit waits for the disk.
    package init(path: String, isDurable: Bool = true) throws {
        self.path = path
        try Self.check(mdb_env_create(&environment))
        try Self.check(mdb_env_set_mapsize(environment, Self.mapBytes))
        try Self.check(mdb_env_set_maxdbs(environment, 64))
        let flags = MDB_NOSUBDIR | (isDurable ? 0 : MDB_NOSYNC)
        try Self.check(mdb_env_open(environment, path, UInt32(flags), 0o600))
    }

    deinit { close() }

    package func close() {
        if let environment { mdb_env_close(environment) }
        environment = nil
    }

    /// Runs `body` in one transaction and commits it.
    package func write(_ body: (RawTransaction) throws -> Void) throws {
        var transaction: OpaquePointer?
        try Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
        do {
            try body(RawTransaction(transaction))
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        try Self.check(mdb_txn_commit(transaction))
    }

    /// Creates databases and fills them in one transaction; no key may exist yet.
    package func write(_ databases: [String], _ body: (Put) throws -> Void) throws {
        try write { transaction in
            for name in databases { try transaction.make(name) }
            try body { database, key, value in
                guard databases.contains(database) else {
                    throw HabitStoreError(.internalInconsistency, "a fixture names a database that it did not make")
                }
                try transaction.put(database, key, value, replaces: false)
            }
        }
    }

    /// Closes the file, and leaves only a copy without free pages under the other name.
    package func finish(compactedTo other: String) throws {
        if FileManager.default.fileExists(atPath: other) { try FileManager.default.removeItem(atPath: other) }
        try Self.check(mdb_env_copy2(environment, other, UInt32(MDB_CP_COMPACT)))
        close()
        for suffix in ["", "-lock"] { try FileManager.default.removeItem(atPath: path + suffix) }
    }

    static func check(_ result: Int32) throws {
        guard result != 0 else { return }
        throw HabitStoreError(.inputOutput, "LMDB: \(String(cString: mdb_strerror(result))) (\(result))")
    }
}

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

/// Damage to one page of an LMDB file whose mark still calls the file sound.
package enum RottenPage: String, CaseIterable, Sendable {
    case anotherNumber = "the number of another page"
    case branch = "the type of a branch"
    case boundsBeyond = "bounds beyond the page"
    case noNodes = "no nodes"
    case nodesBeyond = "nodes beyond the page"
    case keyBeyond = "a key that reaches beyond the file"
    case valueBeyond = "a value that reaches beyond the file"

    private static let pageBytes = 4_096

    /// Damages the page at an offset of a file.
    package func plant(in file: FileHandle, at page: UInt64) throws {
        func write(_ bytes: [UInt8], _ offset: Int) throws {
            try file.seek(toOffset: page + UInt64(offset))
            try file.write(contentsOf: Data(bytes))
        }
        try file.seek(toOffset: page)
        let whole = Array(try file.read(upToCount: Self.pageBytes) ?? Data())
        guard whole.count == Self.pageBytes else { throw CocoaError(.fileReadCorruptFile) }
        func number(_ offset: Int) -> Int { Int(whole[offset]) | Int(whole[offset + 1]) << 8 }
        let node = number(16)
        switch self {
        case .anotherNumber: try write([whole[0] ^ 1], 0)
        case .branch: try write([1, 0], 10)
        case .boundsBeyond: try write([0xF0, 0xFF, 0xF0, 0xFF], 12)
        case .noNodes: try write([16, 0], 12)
        case .nodesBeyond: for place in stride(from: 16, to: number(12), by: 2) { try write([0xF0, 0xFF], place) }
        case .keyBeyond: try write([0xFF, 0xFF], node + 6)
        case .valueBeyond: try write([0xFF, 0xFF, 0xFF, 0x7F], node)
        }
    }

    /// Damages the page with a database's first record, and keeps the file's mark valid.
    package func plant(in path: String, database: String) throws {
        let page = try RawEnvironment(path: path).firstPage(of: database)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try plant(in: file, at: page * UInt64(Self.pageBytes))
        try file.close()
        try Self.keepMark(path)
    }

    /// Makes a store's mark fit its file: bits that rot below a file system change none of the file's times.
    package static func keepMark(_ path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw HabitStoreError(.notFound, "no file", at: .init(path: path)) }
        #if canImport(Darwin)
        let times = [status.st_mtimespec, status.st_ctimespec]
        #else
        let times = [status.st_mtim, status.st_ctim]
        #endif
        let mark = URL(fileURLWithPath: path + "-sound")
        var bytes = Array(try Data(contentsOf: mark))
        let fields =
            [UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino), UInt64(status.st_size)]
            + times.map { UInt64(bitPattern: Int64($0.tv_sec) * 1_000_000_000 + Int64($0.tv_nsec)) }
        bytes.withUnsafeMutableBytes { buffer in
            for (index, field) in fields.enumerated() {
                buffer.storeBytes(of: field.littleEndian, toByteOffset: 24 + index * 8, as: UInt64.self)
            }
            let sum = XXHash64.hash(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<80]))
            buffer.storeBytes(of: sum.littleEndian, toByteOffset: 80, as: UInt64.self)
        }
        try Data(bytes).write(to: mark)
    }
}

extension RawEnvironment {
    /// The number of the page with a database's first record.
    package func firstPage(of database: String) throws -> UInt64 {
        var page: UInt64 = 0
        try write { page = try $0.firstPage(of: database) }
        return page
    }
}
