import CLMDB
import Foundation
import HabitStore

/// liblmdb without any of the engine's care: what a fixture needs to be written as it is.
final class RawEnvironment {
    /// Puts a value under a key of a named database.
    typealias Put = (_ database: String, _ key: [UInt8], _ value: [UInt8]) throws -> Void

    private static let mapBytes = 64 << 20

    private var environment: OpaquePointer?
    private let path: String

    init(path: String) throws {
        self.path = path
        try Self.check(mdb_env_create(&environment))
        try Self.check(mdb_env_set_mapsize(environment, Self.mapBytes))
        try Self.check(mdb_env_set_maxdbs(environment, 32))
        try Self.check(mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR), 0o600))
    }

    /// Makes databases and fills them, in one transaction.
    func write(_ databases: [String], _ body: (Put) throws -> Void) throws {
        var transaction: OpaquePointer?
        try Self.check(mdb_txn_begin(environment, nil, 0, &transaction))
        var handles: [String: MDB_dbi] = [:]
        for name in databases {
            var handle: MDB_dbi = 0
            try Self.check(mdb_dbi_open(transaction, name, UInt32(MDB_CREATE), &handle))
            handles[name] = handle
        }
        try body { database, key, value in
            guard let handle = handles[database] else {
                throw HabitStoreError(.internalInconsistency, "a fixture names a database that it did not make")
            }
            var (key, value) = (key, value)
            try key.withUnsafeMutableBytes { key in
                try value.withUnsafeMutableBytes { value in
                    var name = MDB_val(mv_size: key.count, mv_data: key.baseAddress)
                    var data = MDB_val(mv_size: value.count, mv_data: value.baseAddress)
                    try Self.check(mdb_put(transaction, handle, &name, &data, UInt32(MDB_NOOVERWRITE)))
                }
            }
        }
        try Self.check(mdb_txn_commit(transaction))
    }

    /// Closes the file, and leaves a copy without free pages under the other name alone.
    func finish(compactedTo other: String) throws {
        if FileManager.default.fileExists(atPath: other) { try FileManager.default.removeItem(atPath: other) }
        try Self.check(mdb_env_copy2(environment, other, UInt32(MDB_CP_COMPACT)))
        mdb_env_close(environment)
        environment = nil
        for suffix in ["", "-lock"] { try FileManager.default.removeItem(atPath: path + suffix) }
    }

    private static func check(_ result: Int32) throws {
        guard result != 0 else { return }
        throw HabitStoreError(.inputOutput, "LMDB: \(String(cString: mdb_strerror(result))) (\(result))")
    }
}
