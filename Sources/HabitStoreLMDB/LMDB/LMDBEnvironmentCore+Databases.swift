import CLMDB
import Foundation
@_spi(Engines) import HabitStore

extension LMDBEnvironmentCore {
    func openDatabases(names: [String], create: Bool, for owner: LMDBEnvironment) throws -> [LMDBDatabase] {
        do {
            return try openExistingDatabases(names: names, for: owner)
        } catch let error as HabitStoreError where error.code == .notFound && create && !owner.isReadOnly {
            return try createDatabases(names: names, for: owner)
        }
    }

    /// Uses no write transaction, so that opening a store does not wait for a writer.
    private func openExistingDatabases(names: [String], for owner: LMDBEnvironment) throws -> [LMDBDatabase] {
        try keepingOpen(owner) {
            let newNames = try namesToOpen(names)
            if !newNames.isEmpty {
                var failure: (any Error)?
                // LMDB requires that no other transaction of the process that opens databases runs at the same time.
                let hasRun = exclusively(waitingSeconds: options.resizeWaitSeconds) {
                    do {
                        if needsReopen || environment == nil { try openEnvironment() }
                        try openDatabaseHandles(names: databaseNames + newNames)
                        databaseNames += newNames
                    } catch {
                        failure = error
                    }
                }
                if let failure { throw failure }
                guard hasRun else { throw busy("databases have to be opened") }
            }
            return databases(named: names)
        }
    }

    /// Opens the list if no database was opened before.
    ///
    /// - Returns: whether the environment's table is this list.
    func openDatabases(inOrder names: [String], for owner: LMDBEnvironment) throws -> Bool {
        try keepingOpen(owner) {
            guard databaseNames.isEmpty, names.count <= options.maxDatabases else { return databaseNames == names }
            var isOpen = false
            _ = try exclusively(waitingSeconds: options.resizeWaitSeconds) {
                guard databaseNames.isEmpty else { return isOpen = databaseNames == names }
                if needsReopen || environment == nil { try openEnvironment() }
                do {
                    try openDatabaseHandles(names: names)
                } catch is HabitStoreError {
                    // Opening them one by one then reports the error.
                    return
                }
                databaseNames = names
                isOpen = true
            }
            return isOpen
        }
    }

    private func createDatabases(names: [String], for owner: LMDBEnvironment) throws -> [LMDBDatabase] {
        let transaction = try beginWrite(for: owner, until: owner.writeDeadline)
        do {
            let handle = try transaction.activeHandle()
            for name in names { _ = try openDatabase(name, in: handle, flags: UInt32(MDB_CREATE)) }
        } catch {
            abortWrite(transaction, for: owner)
            throw error
        }
        try commitWrite(transaction, for: owner)
        return try openExistingDatabases(names: names, for: owner)
    }

    /// The distinct names that have no handle yet; the gate is locked.
    private func namesToOpen(_ names: [String]) throws -> [String] {
        var new: [String] = []
        for name in names where !databaseNames.contains(name) && !new.contains(name) { new.append(name) }
        guard databaseNames.count + new.count <= options.maxDatabases else {
            throw LMDBError.error(MDB_DBS_FULL, during: "opening databases", path: path)
        }
        return new
    }

    private func databases(named names: [String]) -> [LMDBDatabase] {
        names.compactMap { name in
            databaseNames.firstIndex(of: name).map { LMDBDatabase(index: $0, name: name) }
        }
    }

    /// Fills the table of handles in one read transaction; no thread is inside.
    func openDatabaseHandles(names: [String]) throws {
        guard !names.isEmpty else { return }
        let handles = try readingAlone("opening databases") { transaction in
            try names.map { try openDatabase($0, in: transaction, flags: 0) }
        }
        for (index, handle) in handles.enumerated() { databaseHandles[index] = handle }
    }

    /// Runs `body` in a read transaction of liblmdb. No other thread may have a transaction open.
    func readingAlone<Result>(_ action: String, _ body: (OpaquePointer) throws -> Result) throws -> Result {
        guard let environment else { throw LMDBError.error(.closed, "the store was closed", path: path) }
        var begun: OpaquePointer?
        let returnCode = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &begun)
        guard returnCode == 0, let begun else { throw LMDBError.error(returnCode, during: action, path: path) }
        let result: Result
        do {
            result = try body(begun)
        } catch {
            mdb_txn_abort(begun)
            throw error
        }
        // Committing keeps the handles; it writes nothing.
        let committed = mdb_txn_commit(begun)
        guard committed == 0 else { throw LMDBError.error(committed, during: action, path: path) }
        return result
    }

    private func openDatabase(_ name: String, in transaction: OpaquePointer, flags: UInt32) throws -> MDB_dbi {
        var handle: MDB_dbi = 0
        let returnCode = mdb_dbi_open(transaction, name, flags, &handle)
        if returnCode == MDB_NOTFOUND {
            throw LMDBError.error(.notFound, "the file has no database \"\(name)\"", path: path)
        }
        guard returnCode == 0 else { throw LMDBError.error(returnCode, during: "opening a database", path: path) }
        var found: UInt32 = 0
        let flagsCode = mdb_dbi_flags(transaction, handle, &found)
        guard flagsCode == 0 else { throw LMDBError.error(flagsCode, during: "opening a database", path: path) }
        guard found == 0 else {
            throw HabitStoreError.damage(
                "the database \"\(name)\" has sorted duplicates or another key order, which no store's has; restore a backup",
                at: .init(path: path),
                underlying: LMDBFailure.otherOrder
            )
        }
        return handle
    }
}
