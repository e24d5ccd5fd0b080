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

extension LMDBEnvironmentCore {
    /// How often opening is retried after another process's opening or closing disturbed it.
    private static let maximumOpenAttempts = 5

    /// Opens the environment for the first time or after a failed commit; no thread is inside.
    func openEnvironment() throws {
        closeEnvironment()
        try requireLockFile()
        guard let state = try LMDBFileState(path: path), state.identity == identity else {
            throw LMDBError.error(.busy, "the file was replaced while it was being opened; try again", path: path)
        }
        let mark = soundness.mark(of: state)
        try LMDBFileInspector.inspectUnopened(path: path)
        var returnCode: Int32 = 0
        for attempt in 0..<Self.maximumOpenAttempts {
            returnCode = try openOnce()
            guard returnCode == EINTR || returnCode == EAGAIN else { break }
            LMDBPlatform.sleep(milliseconds: 1 << attempt)
        }
        if returnCode != 0, !LMDBLibrary.isOfTheMoment(returnCode) {
            throw LMDBLibrary.refusal(returnCode, path: path)
        }
        guard returnCode == 0 else { throw LMDBError.error(returnCode, during: "opening the file", path: path) }
        do {
            try finishOpening(mark)
        } catch {
            closeEnvironment()
            throw error
        }
    }

    /// If the lock file is a link, liblmdb follows it and overwrites its target.
    private func requireLockFile() throws {
        let lock = path + "-lock"
        var status = stat()
        // Any other error here is also an error for liblmdb.
        guard lstat(lock, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
        throw LMDBError.error(
            .permissionDenied,
            status.st_mode & S_IFMT == S_IFLNK
                ? "the lock file is a symbolic link, and opening the store would overwrite its target; remove the link"
                : "the lock file is not a regular file; remove it",
            path: lock
        )
    }

    private func openOnce() throws -> Int32 {
        var created: OpaquePointer?
        var returnCode = mdb_env_create(&created)
        guard returnCode == 0, let created else { return returnCode }
        // Without MDB_NOTLS, each environment takes a thread key, and the 1,024th opening fails.
        var flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS)
        if options.isReadOnly { flags |= UInt32(MDB_RDONLY) }
        returnCode = mdb_env_set_mapsize(created, mapSizeBytes)
        if returnCode == 0 { returnCode = mdb_env_set_maxdbs(created, MDB_dbi(options.maxDatabases)) }
        if returnCode == 0 { returnCode = mdb_env_set_maxreaders(created, UInt32(clamping: options.maxReaders)) }
        if returnCode == 0 { returnCode = LMDBLibrary.open(created, path: path, flags: flags) }
        guard returnCode == 0 else {
            mdb_env_close(created)
            return returnCode
        }
        environment = created
        LMDBFootprint.opened()
        return 0
    }

    private func finishOpening(_ mark: LMDBSoundMark?) throws {
        guard let environment else { throw LMDBError.error(.closed, "the store was closed", path: path) }
        let state = try checkOpenedFile(environment)
        soundness.noteOpening(state, mark)
        guard mdb_env_get_maxkeysize(environment) >= LMDBTransaction.maximumKeyLength else {
            throw LMDBError.error(
                .unsupported,
                "this build of liblmdb keeps keys of fewer than \(LMDBTransaction.maximumKeyLength) bytes",
                path: path
            )
        }
        mapSizeBytes = try statistics().mapSizeBytes
        needsReopen = false
        checkReaders()
        // Whatever the mark says: it does not cover the medium beneath the file.
        try readingAlone("opening the file") { _ in try LMDBFileInspector.inspectOwnTrees(pageSource()) }
        try openDatabaseHandles(names: databaseNames)
    }

    /// Checks that LMDB opened the file that was registered and inspected.
    private func checkOpenedFile(_ environment: OpaquePointer) throws -> LMDBFileState {
        var descriptor: mdb_filehandle_t = -1
        guard mdb_env_get_fd(environment, &descriptor) == 0, let state = LMDBFileState(descriptor: descriptor) else {
            throw LMDBError.error(errno, during: "opening the file", path: path)
        }
        lengthSeen.store(state.length, ordering: .relaxed)
        guard state.identity == identity else {
            throw LMDBError.error(.busy, "the file was replaced while it was being opened; try again", path: path)
        }
        fileMap = try LMDBFileMap(descriptor: descriptor, fileLength: state.length, path: path)
        // LMDB opens the data file without this flag; a surviving child process would keep the file open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return state
    }

    /// Closes the environment; no thread is inside.
    func closeEnvironment() {
        guard let environment else { return }
        for reader in pooledReaders { mdb_txn_abort(reader) }
        pooledReaders.removeAll()
        mdb_env_close(environment)
        LMDBFootprint.closed()
        soundness.forget()
        (knownSnapshot, fileMap) = (nil, nil)
        checkedDatabases.update(repeating: false, count: options.maxDatabases)
        self.environment = nil
    }

    /// Frees the reader slots of dead processes.
    func checkReaders() {
        guard let environment else { return }
        var dead: Int32 = 0
        // An error here only costs space until the next check.
        _ = mdb_reader_check(environment, &dead)
        writesSinceReaderCheck = 0
    }

    /// Reopens the environment after a failed commit; the gate is locked.
    func reopenIfNeeded() throws {
        guard needsReopen || environment == nil else { return }
        try requireUnmoved()
        var failure: (any Error)?
        let hasRun = exclusively(waitingSeconds: options.resizeWaitSeconds) {
            // Another thread may have reopened it meanwhile.
            guard needsReopen || environment == nil else { return }
            do { try openEnvironment() } catch { failure = error }
        }
        if let failure { throw failure }
        guard hasRun else { throw busy("an earlier commit failed and the file has to be reopened") }
    }

    /// Makes an environment that was opened read-only writable.
    func makeWritable() throws {
        gate.lock()
        defer { gate.unlock() }
        guard options.isReadOnly else { return }
        var failure: (any Error)?
        let hasRun = exclusively(waitingSeconds: options.resizeWaitSeconds) {
            guard options.isReadOnly else { return }
            options.isReadOnly = false
            do {
                try openEnvironment()
            } catch {
                // Reads continue: the next transaction reopens the environment read-only.
                options.isReadOnly = true
                failure = error
            }
        }
        if let failure { throw failure }
        guard hasRun else { throw busy("this process has the file open read-only and it has to be reopened") }
    }

    /// The number of records in the main database; the caller is inside.
    func mainEntries() throws -> Int {
        var tree = MDB_stat()
        guard let environment, mdb_env_stat(environment, &tree) == 0 else {
            throw LMDBError.error(.closed, "the store was closed", path: path)
        }
        return tree.ms_entries
    }

    /// The figures of the environment; the caller is inside or has exclusive access.
    func statistics() throws -> LMDBStatistics {
        guard let environment else { throw LMDBError.error(.closed, "the store was closed", path: path) }
        var information = MDB_envinfo()
        var tree = MDB_stat()
        var returnCode = mdb_env_info(environment, &information)
        if returnCode == 0 { returnCode = mdb_env_stat(environment, &tree) }
        guard returnCode == 0 else { throw LMDBError.error(returnCode, during: "reading figures", path: path) }
        return LMDBStatistics(
            pageSizeBytes: Int(tree.ms_psize),
            mapSizeBytes: information.me_mapsize,
            usedBytes: (information.me_last_pgno + 1) * Int(tree.ms_psize),
            lastTransaction: UInt64(information.me_last_txnid),
            maxReaders: Int(information.me_maxreaders)
        )
    }
}

/// Creates new, empty files.
///
/// A file is created under a temporary name and then renamed (see ``LMDBDraft``). So an empty file at a path is always rejected: it
/// is what is left of a store, never one that is being created.
enum LMDBFileCreator {
    /// Creates the file. It is not an error if another process or thread was first.
    static func create(path: String, mapSizeBytes: Int) throws {
        try LMDBLibrary.requireFiles(path: path)
        let draft = LMDBDraft.path(for: path)
        // Left by a dead process with the same number.
        unlink(draft)
        defer { unlink(draft) }
        try writeEmptyFile(draft, for: path, mapSizeBytes: mapSizeBytes)
        _ = try LMDBDraft.give(draft, itsName: path, during: "making the file")
        try LMDBPlatform.synchronizeFolder(of: path)
    }

    private static func writeEmptyFile(_ draft: String, for path: String, mapSizeBytes: Int) throws {
        var created: OpaquePointer?
        var returnCode = mdb_env_create(&created)
        guard returnCode == 0, let created else {
            throw LMDBError.error(returnCode, during: "making the file", path: path)
        }
        defer { mdb_env_close(created) }
        // No other process knows the name yet, so there is nothing to lock.
        let flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS | MDB_NOLOCK)
        returnCode = mdb_env_set_mapsize(created, mapSizeBytes)
        if returnCode == 0 { returnCode = LMDBLibrary.open(created, path: draft, flags: flags) }
        if returnCode != 0, !LMDBLibrary.isOfTheMoment(returnCode) {
            throw LMDBLibrary.refusal(returnCode, of: "a new file", advice: "", path: path)
        }
        if returnCode == 0 { returnCode = mdb_env_sync(created, 1) }
        guard returnCode == 0 else { throw LMDBError.error(returnCode, during: "making the file", path: path) }
    }
}
