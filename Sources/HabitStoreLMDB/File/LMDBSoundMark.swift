import DurableFiles
import Foundation
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Records that a file's structure was found intact, with what is needed to tell whether it has changed since.
///
/// The file `<store>-sound` contains one (see *On-disk formats*). It counts only if all of it matches the file at hand. It proves
/// nothing about the medium beneath the file system, so it is valid until the system restarts, and for at most
/// ``longestTrustSeconds``.
struct LMDBSoundMark: Equatable, Sendable {
    /// The length of a mark in bytes, including its checksum.
    static let length = 88
    /// The time after which even an unchanged file is walked again: seven days.
    static let longestTrustSeconds: Int64 = 7 * 24 * 3_600

    private static let magic: UInt64 = 0x3164_6E53_7453_6248  // "HbStSnd1"

    /// The boot of the system.
    var boot: LMDBBoot
    /// The file's `stat` fingerprint.
    var file: LMDBFileState
    /// The transaction with the verified structure.
    var transaction: UInt64
    /// The time of the last walk over all pages, in seconds since 1970.
    var walkedAt: Int64

    init(boot: LMDBBoot, file: LMDBFileState, transaction: UInt64, walkedAt: Int64) {
        self.boot = boot
        self.file = file
        self.transaction = transaction
        self.walkedAt = walkedAt
    }

    /// Nil for anything but a valid mark.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.length else { return nil }
        let fields = (0..<Self.length / 8).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) }
        let sum = XXHash64.hash(UnsafeRawBufferPointer(rebasing: bytes[..<(Self.length - 8)]), seed: 0)
        guard fields[0] == Self.magic, fields[10] == sum else { return nil }
        boot = LMDBBoot(high: fields[1], low: fields[2])
        file = LMDBFileState(
            identity: LMDBFileIdentity(device: fields[3], inode: fields[4]),
            length: fields[5],
            modified: Int64(bitPattern: fields[6]),
            changed: Int64(bitPattern: fields[7])
        )
        transaction = fields[8]
        walkedAt = Int64(bitPattern: fields[9])
    }

    /// Calls `body` with the mark's bytes.
    func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try withUnsafeTemporaryAllocation(byteCount: Self.length, alignment: 8) { buffer in
            let fields = (
                Self.magic, boot.high, boot.low, file.identity.device, file.identity.inode, file.length,
                UInt64(bitPattern: file.modified), UInt64(bitPattern: file.changed), transaction,
                UInt64(bitPattern: walkedAt)
            )
            withUnsafeBytes(of: fields) { buffer.copyMemory(from: $0) }
            let sum = XXHash64.hash(UnsafeRawBufferPointer(rebasing: buffer[..<(Self.length - 8)]), seed: 0)
            buffer.storeBytes(of: sum, toByteOffset: Self.length - 8, as: UInt64.self)
            return try body(UnsafeRawBufferPointer(buffer))
        }
    }

    /// Whether the mark matches this file at this transaction, in this boot of the system.
    func agrees(with file: LMDBFileState, transaction: UInt64, boot: LMDBBoot) -> Bool {
        self.file == file && self.transaction == transaction && self.boot == boot
    }

    /// Whether the last walk is recent enough; a time in the future does not count.
    func isFresh(at now: Int64) -> Bool { walkedAt <= now && walkedAt > now - Self.longestTrustSeconds }
}

/// The file next to a store with its ``LMDBSoundMark``, mapped for writing.
///
/// The map costs neither a descriptor nor a system call for each commit, and what was written survives the death of the process.
/// Two processes that write at the same time leave a mark with a wrong checksum, which counts as none.
final class LMDBSoundFile {
    private static let length = 4_096
    private static let pendingOffset = 96

    private let map: UnsafeMutableRawPointer

    /// The file for the store at a canonical path.
    static func path(ofStore path: String) -> String { path + "-sound" }

    /// Reads a store's mark without mapping the file; nil if there is no valid one.
    static func read(store: String) -> (mark: LMDBSoundMark?, isPending: Bool) {
        guard let file = try? OpenFile(path(ofStore: store), O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            return (nil, false)
        }
        let wanted = pendingOffset + 8
        return withUnsafeTemporaryAllocation(byteCount: wanted, alignment: 8) { buffer in
            guard (try? file.read(into: buffer, at: 0)) == wanted else { return (nil, false) }
            let bytes = UnsafeRawBufferPointer(buffer)
            return (LMDBSoundMark(bytes), bytes.load(fromByteOffset: pendingOffset, as: UInt64.self) != 0)
        }
    }

    /// Maps the file; nil if it is missing and should not be created, or if that fails.
    init?(store: String, isMaking: Bool) {
        let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | (isMaking ? O_CREAT : 0)
        guard let file = try? OpenFile(Self.path(ofStore: store), flags), let status = try? file.status(),
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        if status.st_size < Self.length {
            // Written rather than just extended: a page without space on the disk could not be mapped for writing.
            let zeros = [UInt8](repeating: 0, count: Self.length)
            guard (try? file.write(zeros, at: 0)) != nil else { return nil }
        }
        guard let map = mmap(nil, Self.length, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0),
            map != UnsafeMutableRawPointer(bitPattern: -1)
        else { return nil }
        self.map = map
    }

    deinit { munmap(map, Self.length) }

    /// The mark; nil if there is no valid one.
    var mark: LMDBSoundMark? {
        get { LMDBSoundMark(UnsafeRawBufferPointer(start: map, count: LMDBSoundMark.length)) }
        set { newValue?.withBytes { UnsafeMutableRawBufferPointer(start: map, count: $0.count).copyMemory(from: $0) } }
    }

    /// The number of the write transaction in progress, 0 for none: until it ends, the file's state may change.
    var pending: UInt64 {
        get { map.load(fromByteOffset: Self.pendingOffset, as: UInt64.self) }
        set { map.storeBytes(of: newValue, toByteOffset: Self.pendingOffset, as: UInt64.self) }
    }
}

/// Keeps the ``LMDBSoundMark`` of an open file up to date from commit to commit.
///
/// A commit only updates the mark if the file matched it when the transaction began: if something else changed the file, later
/// commits never mark it as intact, and the next opening walks it. With two processes, the one that wrote last may not have marked
/// its commit yet when the other begins, so that one waits briefly.
///
/// `lock` guards every stored variable.
final class LMDBSoundKeeper: @unchecked Sendable {
    /// The state of a file at one moment.
    struct Position {
        let descriptor: Int32
        /// The last committed transaction.
        let transaction: UInt64
    }

    /// How often another process's mark is checked, and the pause between: 5 ms in all.
    private static let looks = 25
    private static let pauseMicroseconds: UInt32 = 200

    private let path: String
    private let lock = NSLock()
    private var file: LMDBSoundFile?
    /// The valid mark at the beginning of the current write transaction.
    private var mark: LMDBSoundMark?
    /// The number of the current write transaction.
    private var pending: UInt64 = 0
    /// The mark of the file at opening, until the first query for it.
    private var markAtOpening: LMDBSoundMark?
    /// Whether something else has changed the file, or the mark cannot be written: it then stays unchanged until the next opening.
    private var isGivenUp = false

    init(store path: String) { self.path = path }

    /// The mark, if it matches a file that is about to be opened.
    func mark(of state: LMDBFileState) -> LMDBSoundMark? {
        guard let boot = LMDBBoot.current, let mark = LMDBSoundFile.read(store: path).mark, mark.boot == boot,
            mark.file == state, mark.isFresh(at: Self.seconds)
        else { return nil }
        return mark
    }

    /// Notes that the environment was opened.
    func noteOpening(_ state: LMDBFileState, _ mark: LMDBSoundMark?) {
        lock.lock()
        defer { lock.unlock() }
        markAtOpening = mark.flatMap { $0.file == state ? $0 : nil }
    }

    /// Whether the file matched its mark at opening. Only for the first query: later ones check the mark itself.
    func takeOpening(_ position: Position) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        defer { markAtOpening = nil }
        return markAtOpening?.transaction == position.transaction
    }

    /// Whether the mark matches the current file.
    func isMarked(_ position: () throws -> Position) rethrows -> Bool {
        guard let boot = LMDBBoot.current else { return false }
        for _ in 0..<Self.looks {
            let now = try position()
            let (mark, isPending) = LMDBSoundFile.read(store: path)
            if let mark, mark.isFresh(at: Self.seconds), let state = LMDBFileState(descriptor: now.descriptor),
                mark.agrees(with: state, transaction: now.transaction, boot: boot)
            {
                return true
            }
            // A write in progress changes the file; there may be a mark again soon.
            guard isPending else { return false }
            LMDBPlatform.sleep(microseconds: Self.pauseMicroseconds)
        }
        return false
    }

    /// The mark for a walk that begins now, if it finds nothing; nil if changes during the walk could not be detected.
    func beginWalk(_ position: Position) -> LMDBSoundMark? {
        guard let boot = LMDBBoot.current, let found = LMDBFileState(descriptor: position.descriptor) else {
            return nil
        }
        let state = found.isAtRest(at: Self.seconds) ? found : LMDBFileState.stamp(descriptor: position.descriptor)
        return state.map {
            LMDBSoundMark(boot: boot, file: $0, transaction: position.transaction, walkedAt: Self.seconds)
        }
    }

    /// Marks the file after a walk without findings, unless it was changed meanwhile.
    func endWalk(_ mark: LMDBSoundMark, _ position: Position) {
        guard position.transaction == mark.transaction, LMDBFileState(descriptor: position.descriptor) == mark.file
        else { return }
        lock.lock()
        defer { lock.unlock() }
        guard let file = self.file ?? LMDBSoundFile(store: path, isMaking: true) else { return }
        file.mark = mark
        file.pending = 0
        self.file = file
        isGivenUp = false
    }

    /// Notes the beginning of a write transaction, while no other can begin.
    func beginWrite(transaction: UInt64, descriptor: Int32) {
        lock.lock()
        defer { lock.unlock() }
        guard !isGivenUp, let boot = LMDBBoot.current,
            let file = self.file ?? LMDBSoundFile(store: path, isMaking: false)
        else { return giveUp() }
        self.file = file
        for _ in 0..<Self.looks {
            guard let state = LMDBFileState(descriptor: descriptor) else { break }
            if let mark = file.mark, mark.agrees(with: state, transaction: transaction &- 1, boot: boot) {
                self.mark = mark
                pending = transaction
                file.pending = transaction
                return
            }
            guard file.pending != 0 else { break }
            LMDBPlatform.sleep(microseconds: Self.pauseMicroseconds)
        }
        giveUp()
    }

    /// Notes the commit or rollback of the transaction.
    func endWrite(_ position: Position) {
        lock.lock()
        defer { lock.unlock() }
        guard var mark, let file else { return }
        self.mark = nil
        defer { file.pending = 0 }
        guard position.transaction == pending || position.transaction == mark.transaction else { return giveUp() }
        // Nothing was written, as in a transaction without changes.
        if position.transaction == mark.transaction,
            LMDBFileState(descriptor: position.descriptor) == mark.file
        {
            return
        }
        guard let state = LMDBFileState.stamp(descriptor: position.descriptor) else { return giveUp() }
        mark.file = state
        mark.transaction = position.transaction
        file.mark = mark
    }

    /// Notes that the file was closed, or that nothing is known about it any more.
    func forget() {
        lock.lock()
        defer { lock.unlock() }
        giveUp()
        isGivenUp = false
    }

    private func giveUp() {
        (file, mark, markAtOpening, isGivenUp) = (nil, nil, nil, true)
    }

    private static var seconds: Int64 { Int64(time(nil)) }
}

/// Identifies a boot of the system.
struct LMDBBoot: Equatable, Sendable {
    let high: UInt64
    let low: UInt64

    /// Nil if the system does not provide it.
    static let current: LMDBBoot? = text().flatMap { LMDBBoot($0) }

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses the 32 hexadecimal digits of a UUID, ignoring anything between them.
    init?(_ text: [UInt8]) {
        let digits = text.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 32 else { return nil }
        let halves = [digits.prefix(16), digits.suffix(16)].map { $0.reduce(UInt64(0)) { $0 << 4 | UInt64($1) } }
        self.init(high: halves[0], low: halves[1])
    }

    #if canImport(Darwin)
    private static func text() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 64)
        var length = bytes.count
        guard sysctlbyname("kern.bootsessionuuid", &bytes, &length, nil, 0) == 0 else { return nil }
        return Array(bytes.prefix(length))
    }
    #else
    private static func text() -> [UInt8]? {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }
    #endif
}
