import Dispatch
import Foundation
import HabitStore

/// An open LMDB file.
///
/// **One per file.** LMDB silently loses its lock if a process opens a file twice. So a process-wide registry, keyed by device and
/// inode, returns the environment that is already open: two values of this type for one file, by whatever path, link or hard link,
/// share one environment, and the last one to be closed closes it. Other *processes* must use the same name or a symbolic link:
/// through a hard link with another name they would find another lock file.
///
/// **Threads.** Every method may be called from every thread. Readers and the writer do not wait for each other; writers wait for
/// one another, in this process and across processes.
///
/// **fork.** An environment must not cross `fork()`: the child may only `exec`. Its descriptors and locks belong to the parent.
///
/// **File systems.** Local ones only: LMDB's map and locks do not work over a network.
final class LMDBEnvironment: @unchecked Sendable {
    let core: LMDBEnvironmentCore
    /// Whether this value refuses to write, even if the file is open for writing.
    let isReadOnly: Bool
    /// Guarded by the core's gate.
    var isClosed = false
    /// The transactions in progress of this value; guarded by the core's gate.
    var activeTransactions = 0

    private init(core: LMDBEnvironmentCore, isReadOnly: Bool) {
        self.core = core
        self.isReadOnly = isReadOnly
    }

    /// A handle for a share that the caller has acquired from the registry.
    init(sharing core: LMDBEnvironmentCore) {
        self.core = core
        isReadOnly = true
    }

    deinit { close() }

    /// Opens a file, or shares the environment that this process has open for it.
    ///
    /// Options of the environment (reserve, limits) are those of the first opening.
    ///
    /// - Throws: `.notFound`, `.notAStore`, `.corrupt`, `.newerVersion` from inspecting the file; `.permissionDenied`, `.full`,
    ///   `.limitExceeded`, `.busy` from opening it.
    static func open(path: String, options: LMDBOptions = LMDBOptions()) throws -> LMDBEnvironment {
        let core = try LMDBRegistry.shared.acquire(path: path, options: options)
        return LMDBEnvironment(core: core, isReadOnly: options.isReadOnly)
    }

    /// The file's path; its last component is not a link.
    var path: String { core.path }

    /// Closes this value; using it afterwards is an error.
    ///
    /// Returns without waiting. Transactions in progress finish first, and the last of them releases the file. Those that wait to
    /// begin also keep it open, and throw `.closed` unless they have already reached LMDB.
    func close() { core.close(self) }

    /// Runs `body` on an unchanging snapshot.
    ///
    /// Keep it short. While it runs, no page that it could see is reused, so every commit of any process makes the file longer; and
    /// the reserve cannot grow. A read inside a read or a write of the same thread is allowed.
    @discardableResult
    func withRead<Result>(_ body: (LMDBTransaction) throws -> Result) throws -> Result {
        let transaction = try core.beginRead(for: self)
        defer { core.endRead(transaction, for: self) }
        return try body(transaction)
    }

    /// Runs `body` as the only writer, and commits durably when it returns. If it throws, nothing has changed.
    ///
    /// - Throws: the errors of `body`; `.full` if the transaction was larger than the reserve: nothing has changed, the reserve
    ///   grows, and the write can be retried; `.outcomeUnknown` if the commit failed on the disk: read again before deciding;
    ///   `.busy` if another writer, of this process or another, takes longer than the wait limit; `.fileMoved` if the path no
    ///   longer leads to the file; `.unsupported` inside another write of the same thread. Without a deadline, the wait limit of
    ///   the options applies.
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

    /// Throws if the path no longer leads to the open file, before a read.
    func requireInPlace() throws { if isOpen { try core.requireUnmoved("") } }

    /// The deadline by which a write that begins now must have become the only writer.
    var writeDeadline: DispatchTime {
        let bounded = max(0, min(core.options.writerWaitSeconds, 86_400))
        return DispatchTime(uptimeNanoseconds: DispatchTime.now().uptimeNanoseconds &+ UInt64(bounded * 1_000_000_000))
    }

    /// Opens named databases in one transaction, and optionally creates the missing ones.
    ///
    /// Call it once after opening; a name that is already open gives the same value. The databases stay open as long as the file.
    ///
    /// - Throws: `.notFound` if one is missing and should not be created; `.unsupported` if one was created with sorted duplicates
    ///   or another key order; `.limitExceeded` above the maximum number of databases.
    func openDatabases(names: [String], create: Bool) throws -> [LMDBDatabase] {
        try core.openDatabases(names: names, create: create, for: self)
    }

    /// Opens all databases of a list if none was opened before.
    ///
    /// - Returns: whether each database's place in the list is its place in the environment. Returns false, without a reason, if
    ///   one is missing or cannot be opened, or if others were opened before.
    func openDatabases(inOrder names: [String]) throws -> Bool { try core.openDatabases(inOrder: names, for: self) }

    /// The number of the file's databases, including anything that another program may have added to them.
    func mainEntries() throws -> Int { try withRead { _ in try core.mainEntries() } }

    /// The current figures of the environment.
    func statistics() throws -> LMDBStatistics {
        try withRead { _ in try core.statistics() }
    }
}
