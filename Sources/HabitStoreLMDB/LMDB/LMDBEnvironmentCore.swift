import CLMDB
import Foundation
@_spi(Engines) import HabitStore
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

extension LMDBEnvironmentCore {
    /// How long growth is postponed after readers did not end in time, as a multiple of that wait.
    private static let growthPause = 10.0

    /// Doubles the map if more than half of it is used, or if a transaction did not fit. The gate is locked, and this thread is the
    /// writer.
    func growIfNeeded() throws {
        let figures = try statistics()
        mapSizeBytes = figures.mapSizeBytes
        guard isGrowthWanted || figures.usedBytes > mapSizeBytes / 2 else { return }
        var target = LMDBOptions.rounded(mapSizeBytes * 2)
        while target / 2 < figures.usedBytes, target < LMDBOptions.largestMapSizeBytes { target *= 2 }
        guard target > mapSizeBytes else {
            isGrowthWanted = false
            return
        }
        let room = mapSizeBytes - figures.usedBytes
        // With little room, waiting always pays; otherwise a long reader would slow down every write.
        let isUrgent = isGrowthWanted || room < mapSizeBytes / 8
        let patience = isUrgent || Date() >= growthDeferredUntil ? options.resizeWaitSeconds : 0
        var returnCode: Int32 = 0
        let hasRun = exclusively(waitingSeconds: patience) { returnCode = setMapSize(target) }
        guard hasRun else {
            guard room >= mapSizeBytes / 16 else { throw busy("the reserve is used up and has to grow") }
            growthDeferredUntil = Date(timeIntervalSinceNow: options.resizeWaitSeconds * Self.growthPause)
            return
        }
        isGrowthWanted = false
        guard returnCode != 0 else { return }
        // No address space: continue with the old size, and do not retry with every write.
        growthDeferredUntil = Date(timeIntervalSinceNow: options.resizeWaitSeconds * Self.growthPause)
        guard room >= mapSizeBytes / 16 else {
            throw LMDBError.error(returnCode, during: "enlarging the reserve", path: path)
        }
    }

    /// Maps the file again after another process enlarged it; the gate is locked.
    func mapAnew() throws {
        var returnCode: Int32 = 0
        // 0 means the size in the file.
        let hasRun = exclusively(waitingSeconds: options.resizeWaitSeconds) { returnCode = setMapSize(0) }
        guard hasRun else { throw busy("another process enlarged the file") }
        guard returnCode == 0 else { throw LMDBError.error(returnCode, during: "mapping the file again", path: path) }
    }

    /// No thread is inside.
    private func setMapSize(_ bytes: Int) -> Int32 {
        guard let environment else { return 0 }
        let returnCode = mdb_env_set_mapsize(environment, bytes)
        if returnCode != 0 {
            // If the new map could not be created, the old one is gone too, and only reopening helps.
            needsReopen = true
        } else if bytes > 0 {
            mapSizeBytes = bytes
        }
        return returnCode
    }
}
