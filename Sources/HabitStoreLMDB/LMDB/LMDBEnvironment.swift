import Dispatch
import Foundation
import HabitStore

/// An LMDB file, open.
///
/// **One per file.** LMDB loses its lock, in silence, when a process opens one file twice. So a process-wide registry keyed
/// by device and inode hands out the environment that is open already: two values of this type on one file, by whatever
/// path, link or hard link, share one environment, and the last to be closed closes it. Other *processes* have to use the
/// same name or a symbolic link: through a hard link of another name they would find another lock file.
///
/// **Threads.** Everything may be called from every thread. Readers and the writer do not wait for each other; writers
/// wait for one another, in this process and across processes.
///
/// **fork.** An environment must not cross `fork()`: the child may only `exec`. Its descriptors and locks are the parent's.
///
/// **File systems.** Local ones only: LMDB's map and locks do not work over a network.
final class LMDBEnvironment: @unchecked Sendable {
    let core: LMDBEnvironmentCore
    /// Whether this value refuses to write, even where the file is open for writing.
    let isReadOnly: Bool
    /// Guarded by the core's gate.
    var isClosed = false
    /// The transactions that run through this value; guarded by the core's gate.
    var activeTransactions = 0

    private init(core: LMDBEnvironmentCore, isReadOnly: Bool) {
        self.core = core
        self.isReadOnly = isReadOnly
    }

    /// A handle for a share that the caller has taken at the registry.
    init(sharing core: LMDBEnvironmentCore) {
        self.core = core
        isReadOnly = true
    }

    deinit { close() }

    /// Opens a file, or shares the environment that this process has open on it.
    ///
    /// Options of the environment (reserve, limits) are those of the first opening.
    ///
    /// - Throws: `.notFound`, `.notAStore`, `.corrupt`, `.newerVersion` from the file's inspection;
    ///   `.permissionDenied`, `.full`, `.limitExceeded`, `.busy` from opening it.
    static func open(path: String, options: LMDBOptions = LMDBOptions()) throws -> LMDBEnvironment {
        let core = try LMDBRegistry.shared.acquire(path: path, options: options)
        return LMDBEnvironment(core: core, isReadOnly: options.isReadOnly)
    }

    /// The file's path; its last name is no link.
    var path: String { core.path }

    /// Closes this value; using it afterwards is an error.
    ///
    /// It does not wait. Transactions that run are finished first, and the last one of them lets the file go; those that wait
    /// to begin keep it open too, and are told `.closed` where they had not got as far as LMDB.
    func close() { core.close(self) }

    /// Runs `body` over one unchanging snapshot.
    ///
    /// Keep it short. As long as it runs, no page that it could see is used again, so every commit of any process makes
    /// the file longer; and the reserve cannot grow. A read inside a read or a write of the same thread is allowed.
    @discardableResult
    func withRead<Result>(_ body: (LMDBTransaction) throws -> Result) throws -> Result {
        let transaction = try core.beginRead(for: self)
        defer { core.endRead(transaction, for: self) }
        return try body(transaction)
    }

    /// Runs `body` as the only writer and commits durably when it returns. When it throws nothing has changed.
    ///
    /// - Throws: what `body` throws; `.full` when the transaction was larger than the reserve: nothing has changed, the
    ///   reserve grows, and it can be tried again; `.outcomeUnknown` when the commit failed on the disk: read again
    ///   before deciding; `.busy` when another writer, of this process or another, takes longer than the stated wait;
    ///   `.fileMoved` when the path no longer leads to the file; `.unsupported` inside another write of the same thread.
    ///   Without a deadline the options' wait holds.
    @discardableResult
    func withWrite<Result>(
        until deadline: DispatchTime? = nil,
        _ body: (LMDBTransaction) throws -> Result
    ) throws -> Result {
        let transaction = try core.beginWrite(for: self, until: deadline ?? writeDeadline)
        let result: Result
        do {
            result = try body(transaction)
        } catch {
            core.abortWrite(transaction, for: self)
            throw error
        }
        try core.commitWrite(transaction, for: self)
        return result
    }

    /// Whether transactions may begin.
    var isOpen: Bool {
        core.gate.lock()
        defer { core.gate.unlock() }
        return !isClosed
    }

    /// Refuses to be read from where the path no longer leads to the open file.
    func requireInPlace() throws { if isOpen { try core.requireUnmoved("") } }

    /// Until when a write that begins now waits for the other writers.
    var writeDeadline: DispatchTime {
        let bounded = max(0, min(core.options.writerWaitSeconds, 86_400))
        return DispatchTime(uptimeNanoseconds: DispatchTime.now().uptimeNanoseconds &+ UInt64(bounded * 1_000_000_000))
    }

    /// Opens named databases, all in one transaction, and makes those that are missing if asked.
    ///
    /// Call it once after opening; a name that is open already gives the same value. They stay open as long as the file.
    ///
    /// - Throws: `.notFound` when one is missing and is not to be made; `.unsupported` when one was made with sorted
    ///   duplicates or another key order; `.limitExceeded` above the stated number of databases.
    func openDatabases(names: [String], create: Bool) throws -> [LMDBDatabase] {
        try core.openDatabases(names: names, create: create, for: self)
    }

    /// Opens all databases of a list that were never asked for before, or finds that they were opened so.
    ///
    /// - Returns: whether the place of each in the list is its place in the environment; false, without saying why, where one is
    ///   missing or cannot be opened, and where others were opened before.
    func openDatabases(inOrder names: [String]) throws -> Bool { try core.openDatabases(inOrder: names, for: self) }

    /// How many databases the file has, and whatever another program may have put beside them.
    func mainEntries() throws -> Int { try withRead { _ in try core.mainEntries() } }

    /// Figures of the environment as they are now.
    func statistics() throws -> LMDBStatistics {
        try withRead { _ in try core.statistics() }
    }
}
