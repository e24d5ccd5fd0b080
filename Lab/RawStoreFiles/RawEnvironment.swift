import CLMDB
import Foundation
import HabitStore

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
