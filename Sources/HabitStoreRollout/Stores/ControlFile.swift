import CSystemCalls
import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// What all processes that have a user's stores open share without disk access: the user's stage and epoch, in 64 bits of a mapped file. One atomic
/// load per operation shows whether they have changed.
///
/// The file is also a check next to the stores: it is compared with each store that is opened, so that a store that was restored from a backup, or
/// is another user's, is not served silently. And it has space, reserved in advance, for what must not be lost when nothing else can be written.
///
/// The file `control` has 4,096 bytes, in cells of 8, little endian; numbers are followed by their complement:
///
/// ```
///  0 magic   1, 2 the word: epoch times 256, plus the stage's place on the way   3, 4 the floor: the highest epoch that any
///  store was ever meant to have   5, 6 the epoch of the last move that is in the evidence   7 the length of the log then
///  8, 9 the epoch at which both stores were found as they should be   10 the mark: the last token that was acknowledged,
///  times 65,536, plus its check   11 to 14 the lineage of the user's stores   15, 16 the epoch of the last move that was
///  finished   17, 18 the epoch in which the user was killed   19 how many differences are not in the evidence yet, as in 10
///  21, 22 the file's own inode, xor its generation times 2^32   23, 24 the epoch that a kill has claimed which passed by the lock of the switches
///  25 the bell: odd while a process waits for a write   511 the magic's complement
/// ```
///
/// The stores are authoritative. The file may be deleted while no process has the stores open; what it recorded is then read from both stores and the
/// evidence. It is written under the lock of the user's switches, except for the mark.
///
/// Other programs may truncate, remove or replace the mapped file. Truncated bytes read as zeros and do not crash the process; the magic or its
/// complement is then missing (``isWhole``). Code that publishes something in the file checks afterwards that the file is in place (``isInPlace``);
/// the next lookup of the user's route recreates it.
final class ControlFile: Sendable {
    /// The size of the file and of its mapping.
    static let sizeBytes = MappedPage.sizeBytes
    static let magic: UInt64 = 0x314C_5254_4342_4148
    /// The number of cells in use.
    static let cellCount = 26
    /// The file's last cell.
    private static let endCell = sizeBytes / 8 - 1

    enum Place {
        static let word = 1
        static let floor = 3
        static let logged = 5
        static let logSize = 7
        static let recovered = 8
        static let mark = 10
        static let lineage = 11
        static let confirmed = 15
        static let killed = 17
        static let difference = 19
        static let inode = 21
        static let passed = 23
        static let bell = 25
    }

    typealias Cell = MappedPage.Cell

    private let page: MappedPage
    private let path: String
    private let inode: UInt64
    /// The inode number combined with the generation that file systems keep for it, since inode numbers are reused.
    private let number: UInt64
    /// Whether the file knew of no store when it was mapped.
    let wasNew: Bool
    /// Shows erasures that this process has the user open.
    private let presence: Mutex<UserPresence?>

    /// Maps the file, created if there is none. The caller holds the lock of the user's switches.
    ///
    /// - Parameter isOpening: whether the user counts as open until ``leave()``, which blocks erasures.
    /// - Throws: system errors, with the path.
    convenience init(path: String, isOpening: Bool = true) throws {
        try self.init(path, isPrivate: false, isOpening: isOpening)
    }

    /// Maps a copy of the present file, for callers that only read: changes do not reach the file.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is none; system errors.
    convenience init(copying path: String) throws { try self.init(path, isPrivate: true, isOpening: false) }

    /// The same; nil if there is none.
    static func copy(of path: String) throws -> ControlFile? {
        do {
            return try ControlFile(copying: path)
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        }
    }

    private init(_ path: String, isPrivate: Bool, isOpening: Bool) throws {
        self.path = path
        let flags = (isPrivate ? O_RDONLY : O_RDWR | O_CREAT) | O_NOFOLLOW | O_NONBLOCK
        let file = try Self.mappingErrors { () throws(FileFailure) in try OpenFile(path, flags) }
        let status = try Self.mappingErrors { () throws(FileFailure) in try file.status() }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Self.error("is not a regular file", path, EINVAL)
        }
        if isOpening { try UserPresence.enter(file.descriptor, path) }
        let isFull = status.st_size >= Self.sizeBytes
        if !isFull {
            guard !isPrivate else {
                throw Self.error("does not have its full size yet", path, ENOENT)
            }
            let code = MappedPage.allocate(file.descriptor)
            guard code == 0 else {
                throw Self.error("cannot be given its room", path, code)
            }
        }
        let page: MappedPage
        do {
            page = try MappedPage(file.descriptor, isPrivate: isPrivate)
        } catch {
            throw Self.error(error.what, path, error.number)
        }
        let cells = page.cells
        if !isFull || cells[0].load(ordering: .acquiring) != Self.magic {
            // The rest of a truncated file is too incomplete to trust.
            for cell in 0..<Self.cellCount { cells[cell].store(0, ordering: .releasing) }
        }
        // Earlier versions did not write it.
        cells[Self.endCell].store(~Self.magic, ordering: .releasing)
        cells[0].store(Self.magic, ordering: .releasing)
        self.page = page
        inode = UInt64(truncatingIfNeeded: status.st_ino)
        number = Self.number(of: file.descriptor, status)
        let known = Self.number(cells, Place.inode) ?? 0
        wasNew = (Self.number(cells, Place.floor) ?? 0) == 0
        presence = Mutex(isOpening ? UserPresence(entered: file) : nil)
        if known == 0 { store(number, at: Place.inode) }
    }

    /// Ends the user's presence here. The mapping stays for those that still read it.
    func leave() { presence.withLock { $0 = nil } }

    /// Whether the file is a copy of the one that was written: the user's folder was copied or restored.
    var isCopy: Bool { number(Place.inode) != number }

    /// Notes that the evidence records the copy.
    func noteCopy() { store(number, at: Place.inode) }

    /// Whether the mapped file is still the one in the user's folder, and not truncated. Costs a system call.
    var isInPlace: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && UInt64(truncatingIfNeeded: status.st_ino) == inode
            && status.st_size >= Self.sizeBytes && isWhole
    }

    /// Whether the mapped file is not truncated.
    var isWhole: Bool { load(0) == Self.magic && load(Self.endCell) == ~Self.magic }

    // MARK: The word

    /// The word in force; 0 before the first was published.
    var word: UInt64 { load(Place.word) }

    /// The stage in force; nil if the file does not say.
    var stage: Stage? {
        let word = word
        guard word != 0, load(Place.word + 1) == ~word else { return nil }
        return Stage(position: Int(word & 0xFF))
    }

    /// Publishes the stage and epoch of the stores to all processes.
    ///
    /// - Parameter confirms: whether writes are acknowledged in this epoch, so that a store of an earlier one may lack some. An epoch without any
    ///   would bar a kill from the old store.
    func publish(_ stage: Stage, epoch: Int, confirms: Bool = true) {
        // Only this process would see it, and not what others publish.
        guard isWhole else { return invalidate() }
        let word = Self.word(stage, epoch: epoch)
        store(Place.word + 1, ~word)
        store(Place.word, word)
        raise(epoch)
        // A kill that passed by the lock may be reading what its holder leaves: from then on, no process may show any of it.
        if passed > epoch { return invalidate() }
        guard confirms, confirmed != epoch else { return }
        store(epoch, at: Place.confirmed)
        synchronize()
    }

    /// The epoch claimed by a kill that passed by the lock of the switches; 0 if there was none.
    private var passed: Int { epoch(Place.passed) ?? 0 }

    /// Records that a kill passes by the lock of the switches, with the epoch that it has claimed.
    func notePassing(_ epoch: Int) {
        store(epoch, at: Place.passed)
        synchronize()
    }

    /// Makes every process check again.
    func invalidate() { store(Place.word, 0) }

    /// A condition that holds while this stage and epoch are in force. Its user has to keep this object alive.
    ///
    /// - Parameter isShared: whether other machines can reach the serving store, and could move the user without changing this file.
    func condition(_ stage: Stage, epoch: Int, isShared: Bool) -> ReadCondition {
        ReadCondition(
            cells.advanced(by: Place.word),
            is: Self.word(stage, epoch: epoch),
            epoch: isShared ? epoch : nil
        )
    }

    // MARK: Epochs

    /// The highest epoch that any store was ever meant to have; 0 if the file does not say.
    var floor: Int { Int(floorCell) }

    private var floorCell: UInt64 { laterEpoch(Place.floor) }

    /// A process that dies between writing a number and its complement leaves halves of two epochs: the later one counts.
    private func laterEpoch(_ place: Int) -> UInt64 {
        let (value, other) = (load(place), ~load(place + 1))
        if value == other { return Self.isEpoch(value) ? value : 0 }
        guard value != 0 || other != .max else { return 0 }
        let (low, high) = (min(value, other), max(value, other))
        return high - low < 1 << 16 && Self.isEpoch(high) ? high : 0
    }

    /// Whether a number can be an epoch. Stores have none beyond the limit, and a damaged cell must not make one be claimed there.
    private static func isEpoch(_ number: UInt64) -> Bool { number < UInt64(HistoryToken.greatest.rawValue) }

    /// The epoch of the last finished move; 0 if the file does not say.
    var confirmed: Int { epoch(Place.confirmed) ?? 0 }

    /// Records, durably, an epoch that a store is about to get: whatever happens then, no other store gets the same one. From then on, writes of
    /// earlier epochs are checked again before they are acknowledged.
    func raise(_ epoch: Int) { _ = raiseFloor { $0 < UInt64(epoch) ? UInt64(epoch) : nil } }

    /// Claims the next epoch, which no other process gets.
    func claim(above epoch: Int) -> Int { Int(raiseFloor { max($0, UInt64(epoch)) + 1 }) }

    private func raiseFloor(to next: (UInt64) -> UInt64?) -> UInt64 {
        while true {
            let cell = load(Place.floor)
            let floor = floorCell
            guard let wanted = next(floor) else { return floor }
            guard exchange(Place.floor, cell, wanted).exchanged else { continue }
            store(Place.floor + 1, ~wanted)
            synchronize()
            return wanted
        }
    }

    /// Whether the store that does not serve was found correct at this epoch, so that nothing has to be finished in it.
    func isRecovered(_ epoch: Int) -> Bool { self.epoch(Place.recovered) == epoch }

    /// Records that nothing has to be finished at an epoch.
    func noteRecovered(_ epoch: Int) { if !isRecovered(epoch) { store(epoch, at: Place.recovered) } }

    // MARK: The stores

    /// The last token that was acknowledged; 0 if the file does not say.
    var mark: HistoryToken { HistoryToken(rawValue: Int64(numbered(Place.mark))) }

    /// Records a token that is about to be acknowledged. Costs one atomic operation and no system call; losing it in a power cut only makes the file
    /// know less.
    func noteAcknowledged(_ token: HistoryToken) {
        let number = UInt64(token.rawValue)
        var cell = load(Place.mark)
        while Self.numbered(cell: cell) < number {
            let (exchanged, original) = exchange(Place.mark, cell, Self.numbered(number))
            if exchanged { return }
            cell = original
        }
    }

    /// Wakes all processes that wait for writes. If there are none, it costs one load.
    ///
    /// The bell's lowest bit says whether there is a waiter; the 31 bits above it count the rings, so that no process waits for a ring that has
    /// already happened.
    func ring() {
        var bell = load(Place.bell)
        while bell & 1 != 0 {
            let (exchanged, original) = exchange(Place.bell, bell, (bell &+ 1) & UInt64(UInt32.max))
            if exchanged { return habitstore_futex_wake(Self.bell(of: cells)) }
            bell = original
        }
    }

    /// The half of the bell to wait on.
    static func bell(of cells: Cell) -> UnsafePointer<UInt32> {
        UnsafeRawPointer(cells.advanced(by: Place.bell)).assumingMemoryBound(to: UInt32.self)
    }

    /// The lineage of the user's stores; nil if the file does not say.
    var lineage: UUID? {
        let halves = (load(Place.lineage), load(Place.lineage + 1))
        guard halves != (0, 0), load(Place.lineage + 2) == ~halves.0, load(Place.lineage + 3) == ~halves.1 else {
            return nil
        }
        return withUnsafeBytes(of: halves) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// Records the lineage of the user's stores.
    func note(lineage: UUID) {
        guard self.lineage != lineage else { return }
        let halves = withUnsafeBytes(of: lineage.uuid) { $0.loadUnaligned(as: (UInt64, UInt64).self) }
        store(Place.lineage, halves.0)
        store(Place.lineage + 1, halves.1)
        store(Place.lineage + 2, ~halves.0)
        store(Place.lineage + 3, ~halves.1)
        synchronize()
    }

    /// Removes what it says about stores that are not this user's.
    func disown() {
        for cell in [Place.logged, Place.logged + 1, Place.logSize, Place.recovered, Place.recovered + 1] {
            store(cell, 0)
        }
        for cell in [Place.confirmed, Place.killed, Place.passed] { store(0, at: cell) }
        store(Place.difference, 0)
    }

    /// Replaces lineage and mark by those of an accepted store.
    func adopt(lineage: UUID, mark: HistoryToken) {
        store(Place.mark, Self.numbered(UInt64(mark.rawValue)))
        note(lineage: lineage)
        synchronize()
    }

    // MARK: Kills and owed differences

    /// Whether the user was killed and not re-armed, even if no store could record it.
    var isKilled: Bool { killedEpoch > 0 }

    /// The epoch in which the user was killed; 0 if the user was not, or was re-armed here. Two processes may record a kill at the same time, one of
    /// them past the lock: the result is still a kill.
    var killedEpoch: Int { Int(laterEpoch(Place.killed)) }

    /// Records a kill in an epoch that a store has durably.
    func noteKilled(_ epoch: Int) { if killedEpoch < epoch { store(epoch, at: Place.killed) } }

    /// Records a kill that no store has recorded yet.
    ///
    /// - Returns: whether the record is durable.
    func rememberKill(_ epoch: Int) -> Bool {
        noteKilled(epoch)
        return synchronize()
    }

    /// Removes the record of a kill after a re-arm.
    func forgetKill() {
        guard isKilled else { return }
        store(0, at: Place.killed)
        synchronize()
    }

    /// The number of differences that may not be in the evidence yet.
    var owedDifferences: UInt64 { numbered(Place.difference) }

    /// Records a difference until it is in the evidence.
    func addPendingDifference() {
        var cell = load(Place.difference)
        while true {
            let next = Self.numbered(Self.numbered(cell: cell) + 1)
            let (exchanged, original) = exchange(Place.difference, cell, next)
            if exchanged { break }
            cell = original
        }
        synchronize()
    }

    /// Clears differences that are in the evidence, unless another one was added meanwhile.
    func clearPendingDifferences(_ count: UInt64) {
        guard count > 0, exchange(Place.difference, Self.numbered(count), 0).exchanged else { return }
        synchronize()
    }

    // MARK: The evidence

    /// Whether the move to an epoch is known to be in the evidence, so that the log need not be read. Unknown in a file of an earlier version, and
    /// for a log that has become shorter.
    func hasLogged(_ epoch: Int, in log: EvidenceLog) -> Bool {
        self.epoch(Place.logged) == epoch && log.sizeBytes >= load(Place.logSize)
    }

    /// Whether the log is no longer than when this file last saw it: a file restored from a backup has not seen the log's end.
    func hasSeen(_ log: EvidenceLog) -> Bool { log.sizeBytes <= load(Place.logSize) }

    /// Records that the move to an epoch is durably in the evidence. If this is lost, the log is read.
    func noteLogged(_ epoch: Int, in log: EvidenceLog) {
        noteSeen(log)
        store(epoch, at: Place.logged)
    }

    /// Records the length of the log.
    func noteSeen(_ log: EvidenceLog) { store(Place.logSize, log.sizeBytes) }

    static func word(_ stage: Stage, epoch: Int) -> UInt64 { UInt64(epoch) << 8 | UInt64(stage.position) }

    private var cells: Cell { page.cells }

    private func load(_ cell: Int) -> UInt64 { cells[cell].load(ordering: .sequentiallyConsistent) }

    private func store(_ cell: Int, _ value: UInt64) { cells[cell].store(value, ordering: .sequentiallyConsistent) }

    /// A number that agrees with its complement; nil if it does not.
    private static func number(_ cells: Cell, _ cell: Int) -> UInt64? {
        let number = cells[cell].load(ordering: .sequentiallyConsistent)
        return cells[cell + 1].load(ordering: .sequentiallyConsistent) == ~number ? number : nil
    }

    private func number(_ cell: Int) -> UInt64? { Self.number(cells, cell) }

    private func epoch(_ cell: Int) -> Int? { number(cell).flatMap { Self.isEpoch($0) ? Int($0) : nil } }

    private func store(_ number: UInt64, at cell: Int) {
        store(cell, number)
        store(cell + 1, ~number)
    }

    private func store(_ epoch: Int, at cell: Int) { store(UInt64(epoch), at: cell) }

    private func exchange(_ cell: Int, _ expected: UInt64, _ value: UInt64) -> (exchanged: Bool, original: UInt64) {
        cells[cell].compareExchange(expected: expected, desired: value, ordering: .sequentiallyConsistent)
    }

    /// A 48-bit number in one cell, with 16 bits of Fibonacci hashing as a check: a torn or foreign cell counts as 0.
    private static func numbered(_ number: UInt64) -> UInt64 {
        number << 16 | ((number &+ 1) &* 0x9E37_79B9_7F4A_7C15) >> 48
    }

    /// The number in a cell with a check.
    static func numbered(cell: UInt64) -> UInt64 { numbered(cell >> 16) == cell ? cell >> 16 : 0 }

    private func numbered(_ place: Int) -> UInt64 { Self.numbered(cell: load(place)) }

    /// Writes the file to disk. All processes see its contents anyway; if the disk fails, a power cut loses them, so that the file knows less. Only a
    /// caller that has recorded the fact nowhere else has to check the result.
    ///
    /// - Returns: whether the file is durable.
    @discardableResult
    private func synchronize() -> Bool { msync(cells, Self.sizeBytes, MS_SYNC) == 0 }

    /// The inode number, with the generation (`FS_IOC_GETVERSION`) or the time of birth if there is one.
    private static func number(of descriptor: Int32, _ status: stat) -> UInt64 {
        let inode = UInt64(truncatingIfNeeded: status.st_ino)
        #if canImport(Darwin)
        let born =
            UInt64(truncatingIfNeeded: status.st_birthtimespec.tv_nsec)
            ^ UInt64(truncatingIfNeeded: status.st_birthtimespec.tv_sec) << 30
        #else
        var born: UInt64 = 0
        // Not all file systems have one; then the inode number has to do.
        if ioctl(descriptor, UInt(0x8008_7601), &born) != 0 { born = 0 }
        #endif
        return inode ^ born << 32
    }

    private static func mappingErrors<R: ~Copyable>(_ body: () throws(FileFailure) -> R) throws -> R {
        do {
            return try body()
        } catch {
            throw Self.error(error.step.rawValue, error.path, error.number)
        }
    }

    private static func error(_ what: String, _ path: String, _ reason: Int32 = errno) -> HabitStoreError {
        HabitStoreError(
            reason == ENOENT
                ? .notFound
                : reason == ENOSPC ? .full : reason == EACCES || reason == EROFS ? .permissionDenied : .inputOutput,
            "the control file \(what): \(String(cString: strerror(reason)))",
            at: .init(path: path)
        )
    }
}

/// The record of a kill next to a control file that cannot be opened. The next opening that can open one takes the record over and removes it.
struct KillMarker {
    private static let fileName = "killed"

    private let path: String

    init(_ directory: UserDirectory) { path = directory.path + "/" + Self.fileName }

    /// Whether a kill is recorded here.
    var isThere: Bool { KillSwitch.exists(path) }

    /// Records what pulled the kill switch.
    func make(_ trigger: String) throws(FileFailure) { _ = try MarkerFile.make(path, trigger + "\n") }

    /// Removes the record. A record that is left is taken over again.
    func remove() { _ = try? DurableFile.remove(path) }

    /// Whether a user is recorded as killed, in the control file or next to it.
    static func isKilled(_ directory: UserDirectory, _ control: ControlFile?) -> Bool {
        control?.isKilled == true || KillMarker(directory).isThere
    }
}
