import CLMDB
import Foundation
import HabitStore
import Synchronization

/// A process's only environment for a file, shared by every ``LMDBEnvironment`` for it.
///
/// `gate` guards every stored variable, so that Swift need not check their accesses. Three kinds of threads use it:
/// - readers, counted while their transaction is open;
/// - the writer: `writerThread` is the current one, and `isWriterInside` says that it is using LMDB;
/// - a thread that needs exclusive access to the environment, to map or open it again. It sets `exclusiveThread`, which keeps new
///   transactions out, waits until no thread is inside, and works with the gate locked.
///
/// The unsafe part, and why it is correct: only the exclusive thread changes `environment`, while no thread is inside; a thread that
/// is inside may therefore use it without the gate.
final class LMDBEnvironmentCore: @unchecked Sendable {
    let path: String
    let identity: LMDBFileIdentity
    let place: LMDBFilePlace
    let gate = NSCondition()
    /// LMDB's handles of the named databases. Written with the gate locked. Transactions read them up to the count that they were
    /// given, which is stable while they are inside.
    let databaseHandles: UnsafeMutablePointer<MDB_dbi>
    /// The databases that may be written: see ``checkDatabase(_:)``. Used only by the writer or the exclusive thread.
    let checkedDatabases: UnsafeMutablePointer<Bool>

    /// Remembers for other processes whether the file's structure is sound.
    let soundness: LMDBSoundKeeper

    var options: LMDBOptions
    @exclusivity(unchecked) var environment: OpaquePointer?
    @exclusivity(unchecked) var databaseNames: [String] = [] { didSet { knownSnapshot = nil } }
    /// The snapshot of the last read transaction; nil if none has begun since a database was opened.
    @exclusivity(unchecked) var knownSnapshot: LMDBSnapshotPages?
    /// The file, mapped for reading; replaced by a longer map when the file has outgrown it.
    @exclusivity(unchecked) var fileMap: LMDBFileMap?
    @exclusivity(unchecked) var activeReaders: [UInt] = []
    @exclusivity(unchecked) var pooledReaders: [OpaquePointer] = []
    @exclusivity(unchecked) var writerThread: UInt?
    @exclusivity(unchecked) var isWriterInside = false
    @exclusivity(unchecked) var exclusiveThread: UInt?
    @exclusivity(unchecked) var waitingThreads = 0
    /// Whether a commit failed: the environment must be closed and reopened before anything else begins.
    @exclusivity(unchecked) var needsReopen = false
    var isGrowthWanted = false
    var growthDeferredUntil = Date.distantPast
    var mapSizeBytes: Int
    var writesSinceReaderCheck = 0
    @exclusivity(unchecked) var readsSinceLengthCheck = 0
    /// The greatest known length of the file; LMDB never shortens one.
    let lengthSeen = Atomic<UInt64>(0)

    /// How often a transaction is retried after the environment was mapped or opened again for it.
    static let maximumBeginAttempts = 5

    init(path: String, identity: LMDBFileIdentity, place: LMDBFilePlace, options: LMDBOptions) {
        self.path = path
        self.identity = identity
        self.place = place
        self.options = options
        self.options.maxDatabases = max(1, options.maxDatabases)
        soundness = LMDBSoundKeeper(store: path)
        mapSizeBytes = options.roundedMapSizeBytes
        databaseHandles = .allocate(capacity: self.options.maxDatabases)
        databaseHandles.initialize(repeating: 0, count: self.options.maxDatabases)
        checkedDatabases = .allocate(capacity: self.options.maxDatabases)
        checkedDatabases.initialize(repeating: false, count: self.options.maxDatabases)
    }

    deinit {
        closeEnvironment()
        databaseHandles.deallocate()
        checkedDatabases.deallocate()
    }

    // MARK: Waiting at the gate

    /// Waits with the gate locked; false if the deadline has passed.
    func wait(until deadline: Date) -> Bool {
        waitingThreads += 1
        defer { waitingThreads -= 1 }
        return gate.wait(until: deadline)
    }

    /// Wakes the waiting threads; the gate is locked.
    @inline(__always)
    func wake() { if waitingThreads > 0 { gate.broadcast() } }

    /// Whether the thread has a transaction open here; the gate is locked.
    @inline(__always)
    func isInside(_ thread: UInt) -> Bool {
        activeReaders.contains(thread) || (isWriterInside && writerThread == thread)
    }

    /// Keeps a new transaction out while another thread has, or waits for, exclusive access.
    func waitForExclusiveThread(_ thread: UInt) throws {
        guard exclusiveThread != nil, !isInside(thread) else { return }
        // The exclusive thread waits at most `resizeWaitSeconds` and then works briefly, so twice that is enough.
        let deadline = Date(timeIntervalSinceNow: max(1, options.resizeWaitSeconds * 2))
        while exclusiveThread != nil {
            guard wait(until: deadline) || exclusiveThread == nil else { throw busy("the file is being mapped again") }
        }
    }

    /// Runs `body` while no thread is inside, with the gate locked before, during and after.
    ///
    /// - Returns: false if the wait timed out; `body` was not run then.
    func exclusively(waitingSeconds: Double, _ body: () throws -> Void) rethrows -> Bool {
        let thread = LMDBPlatform.currentThread
        guard !isInside(thread) else { return false }
        let deadline = Date(timeIntervalSinceNow: waitingSeconds)
        while exclusiveThread != nil {
            guard wait(until: deadline) || exclusiveThread == nil else { return false }
        }
        exclusiveThread = thread
        defer {
            exclusiveThread = nil
            wake()
        }
        while !activeReaders.isEmpty || isWriterInside {
            guard wait(until: deadline) || (activeReaders.isEmpty && !isWriterInside) else { return false }
        }
        try body()
        return true
    }

    func busy(_ reason: String) -> HabitStoreError {
        LMDBError.error(.busy, "\(reason), and transactions that run stand in the way; try again", path: path)
    }

    // MARK: Handles

    /// Throws for a closed handle; the gate is locked.
    @inline(__always)
    func checkOpen(_ owner: LMDBEnvironment) throws {
        guard !owner.isClosed else { throw LMDBError.error(.closed, "the store was closed", path: path) }
    }

    func close(_ owner: LMDBEnvironment) {
        gate.lock()
        let isLetGo = !owner.isClosed && owner.activeTransactions == 0
        owner.isClosed = true
        gate.unlock()
        if isLetGo { LMDBRegistry.shared.release(self) }
    }

    /// Runs `begin` with the gate locked, as a transaction of the handle. The file stays open from here on, even if `begin` unlocks
    /// the gate to wait. If it throws, the transaction has ended.
    @inline(__always)
    func entering<Result>(_ owner: LMDBEnvironment, _ begin: () throws -> Result) throws -> Result {
        try enter(owner)
        do {
            let result = try begin()
            gate.unlock()
            return result
        } catch {
            leave(owner)
            throw error
        }
    }

    /// Runs `body` with the gate locked. The file stays open even if `body` unlocks the gate to wait.
    func keepingOpen<Result>(_ owner: LMDBEnvironment, _ body: () throws -> Result) throws -> Result {
        try enter(owner)
        defer { leave(owner) }
        return try body()
    }

    /// Locks the gate and counts a transaction of the handle. Does neither if it throws.
    @inline(__always)
    private func enter(_ owner: LMDBEnvironment) throws {
        gate.lock()
        do {
            try checkOpen(owner)
        } catch {
            gate.unlock()
            throw error
        }
        owner.activeTransactions += 1
    }

    /// Ends a transaction of the handle: unlocks the gate, and releases the file if the handle was closed and this was its last
    /// transaction.
    func leave(_ owner: LMDBEnvironment) {
        owner.activeTransactions -= 1
        let isLetGo = owner.isClosed && owner.activeTransactions == 0
        gate.unlock()
        if isLetGo { LMDBRegistry.shared.release(self) }
    }

    /// Whether the reserve must grow before the next write.
    var wantsGrowth: Bool {
        gate.lock()
        defer { gate.unlock() }
        return isGrowthWanted
    }

    /// Makes the reserve grow before the next write.
    func requestGrowth() {
        gate.lock()
        isGrowthWanted = true
        gate.unlock()
    }
}
