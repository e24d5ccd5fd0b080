import DurableFiles
import Foundation
import HabitStore

/// That a process has a user open: it holds a lock on the user's control file beside others who have. The system gives the lock back
/// when the process dies, and not while it is stopped.
struct UserPresence: ~Copyable, Sendable {
    private let file: OpenFile

    // What is mapped of the file keeps the lock, too, when the file is closed.
    deinit { AdvisoryLock.release(file.descriptor) }

    /// Says that the user is open here, by the descriptor of the control file.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` while somebody erases the user.
    static func enter(_ descriptor: Int32, _ path: String) throws {
        guard try take(.shared, descriptor, path) else {
            throw HabitStoreError(.busy, "the user is being erased", at: .init(path: path))
        }
    }

    /// Goes on saying so, by the control file that ``enter(_:_:)`` was given.
    init(entered file: consuming OpenFile) { self.file = file }

    /// Says that somebody is at work on the user's files, where there is a control file.
    ///
    /// - Returns: nil where there is none.
    init?(besideOthersAt path: String) throws {
        guard let file = try Self.open(path) else { return nil }
        try Self.enter(file.descriptor, path)
        self.file = file
    }

    /// Makes sure that nobody has the user open, and that nobody is to have meanwhile.
    ///
    /// - Returns: nil where somebody has.
    /// - Throws: ``HabitStoreError/Code/notFound`` where there is no control file.
    init?(aloneAt path: String) throws {
        guard let file = try Self.open(path) else {
            throw HabitStoreError(.notFound, "there is no control file", at: .init(path: path))
        }
        guard try Self.take(.exclusive, file.descriptor, path) else { return nil }
        self.file = file
    }

    private static func open(_ path: String) throws -> OpenFile? {
        do {
            return try OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        } catch {
            if error.number == ENOENT { return nil }
            throw HabitStoreError(.inputOutput, "the control file \(error)", at: .init(path: path))
        }
    }

    private static func take(_ lock: AdvisoryLock, _ descriptor: Int32, _ path: String) throws -> Bool {
        do {
            return try lock.tryTake(descriptor, path: path)
        } catch {
            throw HabitStoreError(.inputOutput, "the control file \(error)", at: .init(path: path))
        }
    }
}
