import Foundation
import HabitStore

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
