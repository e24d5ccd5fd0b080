import CLMDB
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
///
/// `@unchecked`: the core's gate guards both variables.
final class LMDBEnvironment: @unchecked Sendable {
    let core: LMDBEnvironmentCore
    /// Whether this value refuses to write, even if the file is open for writing.
    let isReadOnly: Bool
    var isClosed = false
    /// The transactions in progress of this value.
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

extension LMDBEnvironment {
    /// Durably writes a consistent copy to a new file, while other threads and processes read and write.
    ///
    /// - Parameters:
    ///   - path: the path of the finished copy. An existing file is never overwritten.
    ///   - compact: whether to leave out free pages. Slower, and refused by liblmdb if pages of the file have leaked.
    func copy(to path: String, compact: Bool) throws {
        try LMDBDraft.write(path, during: "making the copy") { descriptor in
            try core.copy(to: descriptor, compact: compact, for: self)
        }
    }
}

/// How to open an environment.
///
/// The first opening of a file in a process decides; later ones share it (see ``LMDBEnvironment``).
struct LMDBOptions: Sendable {
    /// Whether to open the file read-only. The lock file is still written, unless the disk is read-only.
    var isReadOnly = false
    /// Whether to create a missing file. Otherwise it is an error.
    var createsIfMissing = false
    /// The reserve: how far the file may grow before the map is enlarged, in bytes.
    ///
    /// It takes only address space, neither disk nor memory, and grows automatically.
    var mapSizeBytes = Self.defaultMapSizeBytes
    /// The maximum number of named databases.
    var maxDatabases = 32
    /// The maximum number of concurrent read transactions, over all processes.
    var maxReaders = 254
    /// How long enlarging or reopening the map waits for transactions in progress, in seconds.
    var resizeWaitSeconds = 1.0
    /// How long a write waits for other writers of this process and of others, in seconds.
    ///
    /// There is no limit when waiting for a program that writes the file through liblmdb alone: LMDB has no timed lock.
    var writerWaitSeconds = 60.0
    /// How many ended read transactions are kept for reuse. Each takes one of the ``maxReaders``.
    var readerPoolLimit = 8
    /// The number of write transactions after which the reader table is searched for dead readers.
    ///
    /// A dead reader prevents the reuse of every page that was freed since: the file would grow forever.
    var writesPerReaderCheck = 64

    /// 4 GiB on 64-bit systems.
    static let defaultMapSizeBytes = MemoryLayout<Int>.size == 8 ? 1 << 32 : 1 << 28
    /// The largest reserve: 4 TiB, well within what 64-bit systems can map.
    static let largestMapSizeBytes = MemoryLayout<Int>.size == 8 ? 1 << 42 : 1 << 30

    /// The reserve that LMDB gets: within the limits, and a multiple of every page size in use.
    var roundedMapSizeBytes: Int { Self.rounded(mapSizeBytes) }

    static func rounded(_ bytes: Int) -> Int {
        let granularity = 1 << 16
        let bounded = min(max(bytes, granularity), largestMapSizeBytes)
        return (bounded + granularity - 1) / granularity * granularity
    }
}

/// A named database of an environment.
///
/// This is a place in the environment's table rather than LMDB's own handle. Reopening the environment refills the table, so the
/// value remains valid as long as the environment is open.
struct LMDBDatabase: Hashable, Sendable {
    /// The place in the environment's table.
    let index: Int
    /// The name in the file.
    let name: String
}

/// Figures of an environment.
struct LMDBStatistics: Equatable, Sendable {
    /// The size of a page.
    let pageSizeBytes: Int
    /// How far the file may grow before the map is enlarged.
    let mapSizeBytes: Int
    /// All pages that were ever used, including free ones: the space that the file needs on disk.
    let usedBytes: Int
    /// The number of the last committed write transaction.
    let lastTransaction: UInt64
    /// The number of reader slots, over all processes.
    let maxReaders: Int
}

/// The files that this process has open, by device and inode: LMDB must not open one twice.
///
/// `@unchecked`: `condition` guards every stored variable.
final class LMDBRegistry: @unchecked Sendable {
    static let shared = LMDBRegistry()

    private enum Entry {
        /// Being opened, closed or read by the inspector; other threads wait.
        case changing
        case open(LMDBEnvironmentCore, count: Int)
    }

    /// How long an opening waits for another thread's opening, closing or check of the same file, in seconds.
    private static let maximumWaitSeconds = 60.0
    /// How often creating a missing file is tried; more than one attempt is only needed if it is removed meanwhile.
    private static let maximumCreateAttempts = 3

    private let condition = NSCondition()
    private var entries: [LMDBFileIdentity: Entry] = [:]
    /// The open file at each place. Two files at the same place would share a lock file.
    private var identities: [LMDBFilePlace: LMDBFileIdentity] = [:]

    /// Shares the file's environment, or opens it. Each `acquire` needs one ``release(_:)``.
    func acquire(path: String, options: LMDBOptions) throws -> LMDBEnvironmentCore {
        for _ in 0...Self.maximumCreateAttempts {
            if let core = try acquireExisting(path: path, options: options) {
                guard !options.isReadOnly else { return core }
                do {
                    try core.makeWritable()
                } catch {
                    release(core)
                    throw error
                }
                return core
            }
            guard options.createsIfMissing, !options.isReadOnly else {
                throw LMDBError.error(.notFound, "there is no store", path: path)
            }
            try LMDBFileCreator.create(path: path, mapSizeBytes: options.roundedMapSizeBytes)
        }
        throw LMDBError.error(.notFound, "the file cannot be made; is it a link to a file that is missing?", path: path)
    }

    /// Releases one share; the last one closes the environment.
    func release(_ core: LMDBEnvironmentCore) {
        condition.lock()
        guard case .open(let found, let count) = entries[core.identity], found === core else {
            condition.unlock()
            return
        }
        guard count == 1 else {
            entries[core.identity] = .open(core, count: count - 1)
            condition.unlock()
            return
        }
        entries[core.identity] = .changing
        condition.unlock()
        // No thread is inside: every handle was closed and its transactions have ended.
        core.gate.lock()
        core.closeEnvironment()
        core.gate.unlock()
        forget(core.identity, place: core.place)
    }

    /// Runs `body` on the file's bytes: through the open environment's descriptor if this process has the file open (opening and
    /// closing a second one would drop the process's locks), otherwise through a separate one, while openings wait.
    func withBytes<Result>(path: String, _ body: (LMDBPageSource) throws -> Result) throws -> Result {
        condition.lock()
        guard let (identity, _) = try reserve(path: path) else {
            throw LMDBError.error(.notFound, "there is no store", path: path)
        }
        if case .open(let core, let count) = entries[identity] {
            entries[identity] = .open(core, count: count + 1)
            condition.unlock()
            let handle = LMDBEnvironment(sharing: core)
            defer { handle.close() }
            return try handle.withRead { _ in try body(try core.pageSource()) }
        }
        entries[identity] = .changing
        condition.unlock()
        defer { forget(identity, place: nil) }
        let source = try LMDBPageSource(path: path)
        defer { source.close() }
        return try body(source)
    }

    private func acquireExisting(path: String, options: LMDBOptions) throws -> LMDBEnvironmentCore? {
        condition.lock()
        guard let (identity, isLink) = try reserve(path: path) else { return nil }
        if case .open(let core, let count) = entries[identity] {
            entries[identity] = .open(core, count: count + 1)
            condition.unlock()
            return core
        }
        let lasting: String
        let place: LMDBFilePlace
        do {
            lasting = try LMDBPlatform.lastingPath(path, isLink: isLink)
            place = try LMDBFilePlace(path: lasting)
            if let other = identities[place], other != identity {
                throw LMDBError.error(
                    .busy,
                    "the file was replaced while this process had it open; close the old one first",
                    path: path
                )
            }
        } catch {
            condition.unlock()
            throw error
        }
        entries[identity] = .changing
        identities[place] = identity
        condition.unlock()
        return try openNew(path: lasting, identity: identity, place: place, options: options)
    }

    private func openNew(
        path: String,
        identity: LMDBFileIdentity,
        place: LMDBFilePlace,
        options: LMDBOptions
    ) throws -> LMDBEnvironmentCore {
        let core = LMDBEnvironmentCore(path: path, identity: identity, place: place, options: options)
        do {
            core.gate.lock()
            defer { core.gate.unlock() }
            try core.openEnvironment()
        } catch {
            forget(identity, place: place)
            throw error
        }
        condition.lock()
        entries[identity] = .open(core, count: 1)
        condition.broadcast()
        condition.unlock()
        return core
    }

    /// Finds the file and waits until no other thread changes its entry. The lock is held on return, unless this returns nil or
    /// throws.
    private func reserve(path: String) throws -> (identity: LMDBFileIdentity, isLink: Bool)? {
        let deadline = Date(timeIntervalSinceNow: Self.maximumWaitSeconds)
        do {
            while true {
                switch try LMDBFileIdentity.lookup(path: path) {
                case .missing:
                    condition.unlock()
                    return nil
                case .other:
                    throw LMDBError.error(.notAStore, "a folder or a device is not a store", path: path)
                case .file(let identity, let isLink):
                    guard case .changing = entries[identity] else { return (identity, isLink) }
                    guard condition.wait(until: deadline) else {
                        throw LMDBError.error(.busy, "another thread opens, closes or checks the file", path: path)
                    }
                }
            }
        } catch {
            condition.unlock()
            throw error
        }
    }

    private func forget(_ identity: LMDBFileIdentity, place: LMDBFilePlace?) {
        condition.lock()
        entries[identity] = nil
        if let place { identities[place] = nil }
        condition.broadcast()
        condition.unlock()
    }
}
