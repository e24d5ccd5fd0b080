import DurableFiles
import Foundation
import HabitStore

/// Shows that a process has a user open: a shared lock on the user's control file. The system releases it when the process dies, but not while it is
/// stopped.
struct UserPresence: ~Copyable, Sendable {
    private let file: OpenFile

    // A mapping of the file also keeps the lock after the file is closed.
    deinit { AdvisoryLock.release(file.descriptor) }

    /// Marks the user as open in this process, with the descriptor of the control file.
    ///
    /// - Throws: ``HabitStoreError/Code/busy`` while the user is being erased.
    static func enter(_ descriptor: Int32, _ path: String) throws {
        guard try take(.shared, descriptor, path) else {
            throw HabitStoreError(.busy, "the user is being erased", at: .init(path: path))
        }
    }

    /// Keeps the lock of ``enter(_:_:)``, whose descriptor belongs to `file`.
    init(entered file: consuming OpenFile) { self.file = file }

    /// Marks the user's files as in use, if there is a control file.
    ///
    /// - Returns: nil if there is none.
    init?(besideOthersAt path: String) throws {
        guard let file = try Self.open(path) else { return nil }
        try Self.enter(file.descriptor, path)
        self.file = file
    }

    /// Makes sure that no process has the user open, or opens the user meanwhile.
    ///
    /// - Returns: nil if a process has the user open.
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is no control file.
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
