import CFutex
import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// What all processes that have a user's stores open share without asking the disk: the user's stage and epoch, in 64
/// bits of a mapped file. One atomic load per operation tells whether what a process knows is still so.
///
/// It is also a witness beside the stores: what it remembers is held against a store that is opened, so that one which was
/// put back from a backup, or is another user's, serves nobody in silence. And it has room, taken in advance, for what must
/// not get lost where nothing else can be written.
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
///  25 the bell: odd while somebody waits for what is written   511 the magic's complement
/// ```
///
/// The stores hold the truth: the file may be deleted when no process has the stores open, and what it would have known is
/// asked of both stores and of the evidence then. It is written under the lock of the user's switches, but for the mark.
///
/// Other programs may cut the file off, remove or replace it while it is mapped. What was cut off reads as zeros and does not end
/// the process, and the magic or its complement is missing then (``isWhole``). Whoever relies on what others were told by the file
/// makes sure that it stands in its place (``isInPlace``) after telling them; the next look for the user's way makes it anew.
final class ControlFile: Sendable {
    /// The file's size, and its mapping's.
    static let sizeBytes = MappedPage.sizeBytes
    static let magic: UInt64 = 0x314C_5254_4342_4148
    /// The cells that mean something.
    static let cellCount = 26
    /// The file's last cell.
    private static let endCell = sizeBytes / 8 - 1

    enum Place {
        static let word = 1
        static let floor = 3
        static let logged = 5
        static let logSize = 7
        static let settled = 8
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
    /// The inode with the generation that file systems keep of it: a number that became free is given again.
    private let number: UInt64
    /// Whether the file, when it was mapped, knew nothing of any store.
    let wasNew: Bool
    /// Says to who erases users that this process has the user open.
    private let presence: Mutex<UserPresence?>

    /// Maps the file, made if there is none. The caller holds the lock of the user's switches.
    ///
    /// - Parameter isOpening: whether the user is open as long as this is not left (``leave()``), which keeps erasures away.
    /// - Throws: what the system says, with the path.
    convenience init(path: String, isOpening: Bool = true) throws {
        try self.init(path, isPrivate: false, isOpening: isOpening)
    }

    /// Maps a copy of the file as it is now, for who only looks: nothing that is changed here reaches it.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` when there is none; what the system says.
    convenience init(copying path: String) throws { try self.init(path, isPrivate: true, isOpening: false) }

    /// The same; nil where there is none.
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
        let file = try Self.told { () throws(FileFailure) in try OpenFile(path, flags) }
        let status = try Self.told { () throws(FileFailure) in try file.status() }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Self.error("is not a regular file", path, EINVAL)
        }
        if isOpening { try UserPresence.enter(file.descriptor, path) }
        let isFull = status.st_size >= Self.sizeBytes
        if !isFull {
            guard !isPrivate else {
                throw Self.error("has not got its size yet", path, ENOENT)
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
            // What is left of a file that was cut off says too little to be believed.
            for cell in 0..<Self.cellCount { cells[cell].store(0, ordering: .releasing) }
        }
        // Earlier versions wrote none.
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

    /// The user is not open here any more. What is mapped stays for who still looks at it.
    func leave() { presence.withLock { $0 = nil } }

    /// Whether the file is a copy of the one that was written: the user's folder was put back, or copied.
    var isCopy: Bool { number(Place.inode) != number }

    /// That the file is a copy is in the evidence.
    func noteCopy() { store(number, at: Place.inode) }

    /// Whether the file that is mapped is the one that stands in the user's folder, and nothing of it was cut off. Costs a call of
    /// the system.
    var isInPlace: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && UInt64(truncatingIfNeeded: status.st_ino) == inode
            && status.st_size >= Self.sizeBytes && isWhole
    }

    /// Whether nothing of what is mapped was cut off.
    var isWhole: Bool { load(0) == Self.magic && load(Self.endCell) == ~Self.magic }

    // MARK: The word

    /// The word in force; 0 before any was published.
    var word: UInt64 { load(Place.word) }

    /// The stage in force, as far as the file can tell.
    var stage: Stage? {
        let word = word
        guard word != 0, load(Place.word + 1) == ~word else { return nil }
        return Stage(position: Int(word & 0xFF))
    }

    /// Tells all processes the stage and the epoch, which stores and moves have come to.
    func publish(_ stage: Stage, epoch: Int) {
        // Nobody but this process would see it, nor this process what others publish.
        guard isWhole else { return invalidate() }
        let word = Self.word(stage, epoch: epoch)
        store(Place.word + 1, ~word)
        store(Place.word, word)
        raise(epoch)
        // A kill that passed by whoever has the lock may be reading what it leaves: nobody is shown anything of it from then on.
        if passed > epoch { return invalidate() }
        guard confirmed != epoch else { return }
        store(epoch, at: Place.confirmed)
        synchronize()
    }

    /// The epoch that a kill has claimed which passed by the lock of the switches; 0 where none has.
    private var passed: Int { epoch(Place.passed) ?? 0 }

    /// Remembers that a kill passes by the lock of the switches, with an epoch that it has claimed.
    func notePassing(_ epoch: Int) {
        store(epoch, at: Place.passed)
        synchronize()
    }

    /// Makes every process look again.
    func invalidate() { store(Place.word, 0) }

    /// Holds while this stage and epoch are in force. Whoever uses it keeps this object.
    ///
    /// - Parameter isShared: whether other machines reach the store that serves, and could move the user unseen by this file.
    func condition(_ stage: Stage, epoch: Int, isShared: Bool) -> ReadCondition {
        ReadCondition(
            cells.advanced(by: Place.word),
            is: Self.word(stage, epoch: epoch),
            epoch: isShared ? epoch : nil
        )
    }

    // MARK: Epochs

    /// The highest epoch that any store was ever meant to have, as far as the file can tell.
    var floor: Int { Int(floorCell) }

    private var floorCell: UInt64 { laterEpoch(Place.floor) }

    /// Who dies between the two stores of a number leaves the halves of two epochs: the later one holds.
    private func laterEpoch(_ place: Int) -> UInt64 {
        let (value, other) = (load(place), ~load(place + 1))
        if value == other { return Self.isEpoch(value) ? value : 0 }
        guard value != 0 || other != .max else { return 0 }
        let (low, high) = (min(value, other), max(value, other))
        return high - low < 1 << 16 && Self.isEpoch(high) ? high : 0
    }

    /// Whether a number can be an epoch: a store has none beyond, so that a damaged cell must not have one claimed there.
    private static func isEpoch(_ number: UInt64) -> Bool { number < UInt64(HistoryToken.greatest.rawValue) }

    /// The epoch of the last move that was finished; 0 where the file cannot tell.
    var confirmed: Int { epoch(Place.confirmed) ?? 0 }

    /// Remembers an epoch that a store is about to be given, and brings that to the disk: whatever becomes of it, no other
    /// store gets the same one. From then on no write of an earlier epoch is acknowledged without another look.
    func raise(_ epoch: Int) { _ = raiseFloor { $0 < UInt64(epoch) ? UInt64(epoch) : nil } }

    /// Takes the next epoch, which nobody else gets.
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

    /// Whether at this epoch the store that does not serve was found as it should be, so that there is nothing to finish in it.
    func isSettled(_ epoch: Int) -> Bool { self.epoch(Place.settled) == epoch }

    /// Remembers that there is nothing to finish at an epoch.
    func noteSettled(_ epoch: Int) { if !isSettled(epoch) { store(epoch, at: Place.settled) } }

    // MARK: The stores

    /// The last token that was acknowledged, as far as the file can tell.
    var mark: HistoryToken { HistoryToken(rawValue: Int64(numbered(Place.mark))) }

    /// Remembers a token that is about to be acknowledged. Costs one atomic operation and no call of the system: what a
    /// power cut takes from it only makes it see less.
    func noteAcknowledged(_ token: HistoryToken) {
        let number = UInt64(token.rawValue)
        var cell = load(Place.mark)
        while Self.numbered(cell: cell) < number {
            let (exchanged, original) = exchange(Place.mark, cell, Self.numbered(number))
            if exchanged { return }
            cell = original
        }
    }

    /// Wakes those who wait for what is written, in whatever process. Where nobody does, this is one look at a word.
    ///
    /// The bell's lowest bit says whether anybody waits; the 31 above it count how often it was rung, so that nobody waits for a
    /// ring that has been.
    func ring() {
        var bell = load(Place.bell)
        while bell & 1 != 0 {
            let (exchanged, original) = exchange(Place.bell, bell, (bell &+ 1) & UInt64(UInt32.max))
            if exchanged { return habitstore_futex_wake(Self.bell(of: cells)) }
            bell = original
        }
    }

    /// The half of the bell that is waited on.
    static func bell(of cells: Cell) -> UnsafePointer<UInt32> {
        UnsafeRawPointer(cells.advanced(by: Place.bell)).assumingMemoryBound(to: UInt32.self)
    }

    /// The lineage of the user's stores, as far as the file can tell.
    var lineage: UUID? {
        let halves = (load(Place.lineage), load(Place.lineage + 1))
        guard halves != (0, 0), load(Place.lineage + 2) == ~halves.0, load(Place.lineage + 3) == ~halves.1 else {
            return nil
        }
        return withUnsafeBytes(of: halves) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// Remembers the lineage of the user's stores.
    func note(lineage: UUID) {
        guard self.lineage != lineage else { return }
        let halves = withUnsafeBytes(of: lineage.uuid) { $0.loadUnaligned(as: (UInt64, UInt64).self) }
        store(Place.lineage, halves.0)
        store(Place.lineage + 1, halves.1)
        store(Place.lineage + 2, ~halves.0)
        store(Place.lineage + 3, ~halves.1)
        synchronize()
    }

    /// Forgets what it says of stores that are not this user's.
    func disown() {
        for cell in [Place.logged, Place.logged + 1, Place.logSize, Place.settled, Place.settled + 1] { store(cell, 0) }
        for cell in [Place.confirmed, Place.killed, Place.passed] { store(0, at: cell) }
        store(Place.difference, 0)
    }

    /// Begins anew with what was accepted.
    func adopt(lineage: UUID, mark: HistoryToken) {
        store(Place.mark, Self.numbered(UInt64(mark.rawValue)))
        note(lineage: lineage)
        synchronize()
    }

    // MARK: What must not get lost

    /// Whether the user was killed, and nobody has re-armed: also where that cannot be written into a store.
    var isKilled: Bool { killedEpoch > 0 }

    /// The epoch in which the user was killed; 0 where nobody was, or the user was re-armed here. Two processes may record a kill at
    /// once, one of them past the lock: what they leave is still a kill.
    var killedEpoch: Int { Int(laterEpoch(Place.killed)) }

    /// Remembers that the user was killed in an epoch, which a store is on the disk with.
    func noteKilled(_ epoch: Int) { if killedEpoch < epoch { store(epoch, at: Place.killed) } }

    /// Records a kill that no store has recorded yet.
    ///
    /// - Returns: whether the disk has it too.
    func rememberKill(_ epoch: Int) -> Bool {
        noteKilled(epoch)
        return synchronize()
    }

    /// The user was re-armed.
    func forgetKill() {
        guard isKilled else { return }
        store(0, at: Place.killed)
        synchronize()
    }

    /// How many differences were found that are not known to be in the evidence.
    var owedDifferences: UInt64 { numbered(Place.difference) }

    /// Remembers a difference until it is in the evidence.
    func oweDifference() {
        var cell = load(Place.difference)
        while true {
            let next = Self.numbered(Self.numbered(cell: cell) + 1)
            let (exchanged, original) = exchange(Place.difference, cell, next)
            if exchanged { break }
            cell = original
        }
        synchronize()
    }

    /// So many differences are in the evidence; where another one has come since, none is forgotten.
    func payDifferences(_ count: UInt64) {
        guard count > 0, exchange(Place.difference, Self.numbered(count), 0).exchanged else { return }
        synchronize()
    }

    // MARK: The evidence

    /// Whether the move to an epoch is known to be in the evidence, so that the log need not be read for it. A file that an
    /// earlier version has made says nothing of it, and a log that has become shorter since may have lost it.
    func hasLogged(_ epoch: Int, in log: EvidenceLog) -> Bool {
        self.epoch(Place.logged) == epoch && log.sizeBytes >= load(Place.logSize)
    }

    /// Whether the log holds nothing that was written past this file: one that was put back from a backup has not seen its
    /// end.
    func hasSeen(_ log: EvidenceLog) -> Bool { log.sizeBytes <= load(Place.logSize) }

    /// Remembers that the move to an epoch is in the evidence, and on the disk there. Where this gets lost, the log is read.
    func noteLogged(_ epoch: Int, in log: EvidenceLog) {
        noteSeen(log)
        store(epoch, at: Place.logged)
    }

    /// Remembers how long the log is.
    func noteSeen(_ log: EvidenceLog) { store(Place.logSize, log.sizeBytes) }

    static func word(_ stage: Stage, epoch: Int) -> UInt64 { UInt64(epoch) << 8 | UInt64(stage.position) }

    private var cells: Cell { page.cells }

    private func load(_ cell: Int) -> UInt64 { cells[cell].load(ordering: .sequentiallyConsistent) }

    private func store(_ cell: Int, _ value: UInt64) { cells[cell].store(value, ordering: .sequentiallyConsistent) }

    /// A number and its complement; nil when they do not agree.
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

    /// A number of 48 bits in one cell, with 16 bits of Fibonacci hashing as its check: a torn or foreign cell counts as 0.
    private static func numbered(_ number: UInt64) -> UInt64 {
        number << 16 | ((number &+ 1) &* 0x9E37_79B9_7F4A_7C15) >> 48
    }

    /// The number that a cell holds with its check.
    static func numbered(cell: UInt64) -> UInt64 { numbered(cell >> 16) == cell ? cell >> 16 : 0 }

    private func numbered(_ place: Int) -> UInt64 { Self.numbered(cell: load(place)) }

    /// Brings the file to the disk. All processes see what was stored in any case; where the disk fails, a power cut takes it, and
    /// makes the witness know less. Only who has told nobody else has to ask.
    ///
    /// - Returns: whether the disk has it.
    @discardableResult
    private func synchronize() -> Bool { msync(cells, Self.sizeBytes, MS_SYNC) == 0 }

    /// The inode, and the generation (`FS_IOC_GETVERSION`) or the time of birth where there is one.
    private static func number(of descriptor: Int32, _ status: stat) -> UInt64 {
        let inode = UInt64(truncatingIfNeeded: status.st_ino)
        #if canImport(Darwin)
        let born =
            UInt64(truncatingIfNeeded: status.st_birthtimespec.tv_nsec)
            ^ UInt64(truncatingIfNeeded: status.st_birthtimespec.tv_sec) << 30
        #else
        var born: UInt64 = 0
        // Not all file systems have one; the inode alone has to do then.
        if ioctl(descriptor, UInt(0x8008_7601), &born) != 0 { born = 0 }
        #endif
        return inode ^ born << 32
    }

    private static func told<R: ~Copyable>(_ body: () throws(FileFailure) -> R) throws -> R {
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
