import Foundation
import HabitStore
import Synchronization

/// What all processes that have a user's stores open share without asking the disk: the user's stage and epoch, in 64
/// bits of a mapped file. One atomic load per operation tells whether what a process knows is still so.
///
/// The file `control` has 4,096 bytes: 8 of magic, the word (epoch times 256, plus the stage's place on the way), the
/// word's complement, the highest epoch that any store was ever meant to have, with its complement, the epoch of the last
/// move that is known to be in the evidence, with its complement, how long the log was then, and the epoch at which both
/// stores were found as they should be, with its complement; little endian.
/// The stores hold the truth, and this only says where to look for it: the file may be deleted when no process has the
/// stores open. It is written under the lock of the user's switches.
final class ControlFile: Sendable {
    /// The file's size, and its mapping's.
    private static let sizeBytes = 4_096
    private static let magic: UInt64 = 0x314C_5254_4342_4148

    private typealias Cell = UnsafeMutablePointer<Atomic<UInt64>>

    /// Mapped until the end of this object's life.
    private nonisolated(unsafe) let cells: Cell
    private let path: String

    /// Maps the file, made if there is none. The caller holds the lock of the user's switches.
    ///
    /// - Throws: what the system says, with the path.
    init(path: String) throws {
        self.path = path
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.error("cannot be opened", path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.error("cannot be looked at", path) }
        if status.st_size < Self.sizeBytes {
            // Room is taken now: on a full disk a hole in a mapped file would end the process.
            let code = Self.allocate(descriptor, Self.sizeBytes)
            guard code == 0 else {
                errno = code
                throw Self.error("cannot be given its room", path)
            }
        }
        let mapped = mmap(nil, Self.sizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let mapped, mapped != MAP_FAILED else { throw Self.error("cannot be mapped", path) }
        cells = mapped.bindMemory(to: Atomic<UInt64>.self, capacity: Self.sizeBytes / 8)
        if load(0) != Self.magic {
            for cell in 1...9 { store(cell, 0) }
            store(0, Self.magic)
        }
    }

    deinit { munmap(cells, Self.sizeBytes) }

    /// The word in force; 0 before any was published.
    var word: UInt64 { load(1) }

    /// The stage in force, as far as the file can tell.
    var stage: Stage? {
        let word = word
        guard word != 0, load(2) == ~word else { return nil }
        return Stage(position: Int(word & 0xFF))
    }

    /// The highest epoch that any store was ever meant to have, as far as the file can tell.
    var floor: Int { epoch(3) ?? 0 }

    /// Whether the move to an epoch is known to be in the evidence, so that the log need not be read for it. A file that an
    /// earlier version has made says nothing of it, and a log that has become shorter since may have lost it.
    func hasLogged(_ epoch: Int, in log: EvidenceLog) -> Bool {
        self.epoch(5) == epoch && log.sizeBytes >= load(7)
    }

    /// Tells all processes the stage and the epoch.
    func publish(_ stage: Stage, epoch: Int) {
        let word = Self.word(stage, epoch: epoch)
        store(2, ~word)
        store(1, word)
        raise(epoch)
    }

    /// Remembers an epoch that a store is about to be given, and brings that to the disk: whatever becomes of it, no other
    /// store gets the same one.
    func raise(_ epoch: Int) {
        guard epoch > floor else { return }
        store(epoch, at: 3)
        msync(cells, Self.sizeBytes, MS_SYNC)
    }

    /// Remembers that the move to an epoch is in the evidence, and on the disk there. Where this gets lost, the log is read.
    func noteLogged(_ epoch: Int, in log: EvidenceLog) {
        store(7, log.sizeBytes)
        store(epoch, at: 5)
    }

    /// Whether at this epoch the store that does not serve was found as it should be, so that there is nothing to finish in it.
    func isSettled(_ epoch: Int) -> Bool { self.epoch(8) == epoch }

    /// Remembers that there is nothing to finish at an epoch.
    func noteSettled(_ epoch: Int) { if !isSettled(epoch) { store(epoch, at: 8) } }

    /// Makes every process look again.
    func invalidate() { store(1, 0) }

    /// Holds while this stage and epoch are in force. Whoever uses it keeps this object.
    func condition(_ stage: Stage, epoch: Int) -> ReadCondition {
        ReadCondition(cells.advanced(by: 1), is: Self.word(stage, epoch: epoch))
    }

    static func word(_ stage: Stage, epoch: Int) -> UInt64 { UInt64(epoch) << 8 | UInt64(stage.position) }

    private func load(_ cell: Int) -> UInt64 { cells[cell].load(ordering: .acquiring) }

    private func store(_ cell: Int, _ value: UInt64) { cells[cell].store(value, ordering: .releasing) }

    /// An epoch and its complement; nil when they do not agree.
    private func epoch(_ cell: Int) -> Int? {
        let epoch = load(cell)
        return load(cell + 1) == ~epoch ? Int(truncatingIfNeeded: epoch & (.max >> 8)) : nil
    }

    private func store(_ epoch: Int, at cell: Int) {
        store(cell, UInt64(epoch))
        store(cell + 1, ~UInt64(epoch))
    }

    private static func allocate(_ descriptor: Int32, _ size: Int) -> Int32 {
        #if canImport(Darwin)
        ftruncate(descriptor, off_t(size)) == 0 ? 0 : errno
        #else
        posix_fallocate(descriptor, 0, off_t(size))
        #endif
    }

    private static func error(_ what: String, _ path: String) -> HabitStoreError {
        let reason = errno
        return HabitStoreError(
            reason == ENOSPC ? .full : reason == EACCES || reason == EROFS ? .permissionDenied : .inputOutput,
            "the control file \(what): \(String(cString: strerror(reason)))",
            at: .init(path: path)
        )
    }
}
