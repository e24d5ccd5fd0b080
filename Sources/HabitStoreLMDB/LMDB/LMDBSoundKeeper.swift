import Foundation
import HabitStore

/// Keeps the ``LMDBSoundMark`` of an open file true, from commit to commit.
///
/// A commit carries the mark forward only where the file was what the mark says when the transaction began: a file that
/// something else has changed is never called sound by a later commit, and is walked when it is opened next. Between two
/// processes the one that wrote last may not have marked its commit yet when the other begins: that one waits a little.
///
/// `lock` guards every stored variable.
final class LMDBSoundKeeper: @unchecked Sendable {
    /// Where a file stands at one moment.
    struct Position {
        let descriptor: Int32
        /// The last committed transaction.
        let transaction: UInt64
    }

    /// How often another process's mark is looked for, and the pause in between: 5 ms in all.
    private static let looks = 25
    private static let pauseMicroseconds: UInt32 = 200

    private let path: String
    private let lock = NSLock()
    private var file: LMDBSoundFile?
    /// The mark that held when the transaction that is being written began.
    private var mark: LMDBSoundMark?
    /// The transaction that is being written.
    private var pending: UInt64 = 0
    /// The mark of the file as it was opened, until somebody asks for that.
    private var markAtOpening: LMDBSoundMark?
    /// Something else has changed the file, or the mark cannot be written: it stays as it is until the next opening.
    private var isGivenUp = false

    init(store path: String) { self.path = path }

    /// The mark, if it speaks of a file that is about to be opened.
    func mark(of state: LMDBFileState) -> LMDBSoundMark? {
        guard let boot = LMDBBoot.current, let mark = LMDBSoundFile.read(store: path).mark, mark.boot == boot,
            mark.file == state, mark.isFresh(at: Self.seconds)
        else { return nil }
        return mark
    }

    /// The environment is open.
    func noteOpening(_ state: LMDBFileState, _ mark: LMDBSoundMark?) {
        lock.lock()
        defer { lock.unlock() }
        markAtOpening = mark.flatMap { $0.file == state ? $0 : nil }
    }

    /// Whether the file was opened as its mark has it, and nobody has asked before: later the mark itself is looked at.
    func takeOpening(_ position: Position) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        defer { markAtOpening = nil }
        return markAtOpening?.transaction == position.transaction
    }

    /// Whether the mark speaks of the file as it is.
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
            // A write that goes on changes the file; soon there may be a mark again.
            guard isPending else { return false }
            LMDBPlatform.sleep(microseconds: Self.pauseMicroseconds)
        }
        return false
    }

    /// The mark that a walk which begins now deserves if it finds nothing; nil where it could not be told afterwards that
    /// the file was not changed meanwhile.
    func beginWalk(_ position: Position) -> LMDBSoundMark? {
        guard let boot = LMDBBoot.current, let found = LMDBFileState(descriptor: position.descriptor) else {
            return nil
        }
        let state = found.isAtRest(at: Self.seconds) ? found : LMDBFileState.stamp(descriptor: position.descriptor)
        return state.map {
            LMDBSoundMark(boot: boot, file: $0, transaction: position.transaction, walkedAt: Self.seconds)
        }
    }

    /// A walk has found nothing: the file is marked, unless it was changed meanwhile.
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

    /// A write transaction has begun, and nobody else can begin one.
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

    /// The transaction was committed, or taken back.
    func endWrite(_ position: Position) {
        lock.lock()
        defer { lock.unlock() }
        guard var mark, let file else { return }
        self.mark = nil
        defer { file.pending = 0 }
        guard position.transaction == pending || position.transaction == mark.transaction else { return giveUp() }
        // Nothing was written, as a transaction without changes ends.
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

    /// The file is closed, or nothing is known about it any more.
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
