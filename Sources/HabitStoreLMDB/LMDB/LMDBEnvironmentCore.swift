import CLMDB
import Foundation
import HabitStore
import Synchronization

/// The one environment that a process has on a file; shared by every ``LMDBEnvironment`` on it.
///
/// `gate` guards every stored variable, so that Swift need not watch their accesses. Three kinds of thread meet at it:
/// - readers, counted while their transaction is open;
/// - the writer: `writerThread` has the turn, and `isWriterInside` says that LMDB is in use by it;
/// - a thread that needs the environment for itself, to map it anew or to reopen it. It sets `exclusiveThread`, which
///   keeps new transactions out, waits until nobody is inside, and works with the gate locked.
///
/// What is unsafe, and why it holds: `environment` is changed only by the exclusive thread, when nobody is inside; who is
/// inside may therefore use it without the gate.
final class LMDBEnvironmentCore: @unchecked Sendable {
    let path: String
    let identity: LMDBFileIdentity
    let place: LMDBFilePlace
    let gate = NSCondition()
    /// LMDB's handles of the named databases. Written with the gate locked; read by transactions up to the count that
    /// they were given, which is stable while they are inside.
    let databaseHandles: UnsafeMutablePointer<MDB_dbi>
    /// The databases that writes may use: see ``checkDatabase(_:)``. The writer's alone, or the exclusive thread's.
    let checkedDatabases: UnsafeMutablePointer<Bool>

    /// What is known about the file's structure, beyond this process.
    let soundness: LMDBSoundKeeper

    var options: LMDBOptions
    @exclusivity(unchecked) var environment: OpaquePointer?
    @exclusivity(unchecked) var databaseNames: [String] = [] { didSet { knownSnapshot = nil } }
    /// The snapshot of the last read transaction; nil when none has begun since a database was opened.
    @exclusivity(unchecked) var knownSnapshot: LMDBSnapshotPages?
    /// The file, mapped for reading; a longer one replaces it when the file has outgrown it.
    @exclusivity(unchecked) var fileMap: LMDBFileMap?
    @exclusivity(unchecked) var activeReaders: [UInt] = []
    @exclusivity(unchecked) var pooledReaders: [OpaquePointer] = []
    @exclusivity(unchecked) var writerThread: UInt?
    @exclusivity(unchecked) var isWriterInside = false
    @exclusivity(unchecked) var exclusiveThread: UInt?
    @exclusivity(unchecked) var waitingThreads = 0
    /// A commit failed: nothing may begin before the environment was closed and opened again.
    @exclusivity(unchecked) var needsReopen = false
    var isGrowthWanted = false
    var growthDeferredUntil = Date.distantPast
    var mapSizeBytes: Int
    var writesSinceReaderCheck = 0
    @exclusivity(unchecked) var readsSinceLengthCheck = 0
    /// The greatest length that the file was seen with; LMDB never makes one shorter.
    let lengthSeen = Atomic<UInt64>(0)

    /// How often a begin is tried again after the environment was mapped anew or reopened for it.
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

    /// Waits with the gate locked; false when the deadline has passed.
    func wait(until deadline: Date) -> Bool {
        waitingThreads += 1
        defer { waitingThreads -= 1 }
        return gate.wait(until: deadline)
    }

    /// Wakes who waits; the gate is locked.
    @inline(__always)
    func wake() { if waitingThreads > 0 { gate.broadcast() } }

    /// Whether the thread has a transaction open here; the gate is locked.
    @inline(__always)
    func isInside(_ thread: UInt) -> Bool {
        activeReaders.contains(thread) || (isWriterInside && writerThread == thread)
    }

    /// Keeps a new transaction out while another thread has, or waits for, the environment for itself.
    func waitForExclusiveThread(_ thread: UInt) throws {
        guard exclusiveThread != nil, !isInside(thread) else { return }
        // Who holds it waits at most `resizeWaitSeconds` and then works briefly: twice that is more than it takes.
        let deadline = Date(timeIntervalSinceNow: max(1, options.resizeWaitSeconds * 2))
        while exclusiveThread != nil {
            guard wait(until: deadline) || exclusiveThread == nil else { throw busy("the file is being mapped anew") }
        }
    }

    /// Runs `body` with nobody inside, the gate locked before, during and after.
    ///
    /// - Returns: false when the wait was in vain; `body` was not run then.
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

    /// Refuses a handle that was closed; the gate is locked.
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

    /// Runs `begin` with the gate locked, as a transaction of the handle: the file stays open from here on, also where `begin`
    /// has to let the gate go to wait. When it throws, the transaction has ended.
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

    /// Runs `body` with the gate locked, and the file kept open also where `body` has to let the gate go to wait.
    func keepingOpen<Result>(_ owner: LMDBEnvironment, _ body: () throws -> Result) throws -> Result {
        try enter(owner)
        defer { leave(owner) }
        return try body()
    }

    /// Locks the gate and counts a transaction of the handle; when it throws, neither.
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

    /// One transaction of the handle has ended: unlocks the gate, and releases the file where a closed handle has waited for that.
    func leave(_ owner: LMDBEnvironment) {
        owner.activeTransactions -= 1
        let isLetGo = owner.isClosed && owner.activeTransactions == 0
        gate.unlock()
        if isLetGo { LMDBRegistry.shared.release(self) }
    }

    /// Whether the reserve has to grow before the next write.
    var wantsGrowth: Bool {
        gate.lock()
        defer { gate.unlock() }
        return isGrowthWanted
    }

    /// Remembers that the reserve has to grow before the next write.
    func requestGrowth() {
        gate.lock()
        isGrowthWanted = true
        gate.unlock()
    }
}
