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

/// An advisory lock between processes, on a file next to the store, so that one process at a time writes or checkpoints.
///
/// SQLite's own locks would be enough, except for a defect up to 3.51.2: two connections that restart the log at the same instant
/// can damage it (https://www.sqlite.org/wal.html#walresetbug). The lock file is deliberately never deleted, because then two
/// processes could lock different files with the same name. Not thread-safe; its owner lets one thread at a time use it.
final class SQLiteProcessLock {
    private static let pauses = AdvisoryLock.Pauses(microseconds: 250...4_000)

    let path: String
    private var descriptor: Int32 = -1

    /// The lock of the store at a canonical path.
    init(storePath: String) { path = storePath + "-lock" }

    deinit { closeDescriptor() }

    /// Acquires the lock, waiting until the deadline; then throws `.busy`.
    func acquire(until deadline: Deadline) throws {
        guard try AdvisoryLock.wait(Self.pauses, while: { !deadline.hasPassed }, for: tryAcquire) else {
            throw HabitStoreError(
                .busy,
                "another process holds the write lock of the store longer than the stated wait; try again later",
                at: HabitStoreError.Location(path: path)
            )
        }
    }

    /// Acquires the lock if it is free.
    func tryAcquire() throws -> Bool {
        if descriptor < 0 { try openDescriptor() }
        do {
            guard try AdvisoryLock.exclusive.tryTake(descriptor, path: path) else { return false }
        } catch {
            throw SQLiteError.system(error.number, path: path, while: "locking the lock file")
        }
        // A lock on a file that was deleted or replaced meanwhile excludes no other process.
        if try isCurrent() { return true }
        closeDescriptor()
        return false
    }

    /// Releases the lock.
    func release() {
        guard descriptor >= 0 else { return }
        AdvisoryLock.release(descriptor)
    }

    private func openDescriptor() throws {
        do {
            descriptor = try OpenFile.open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        } catch {
            throw SQLiteError.system(error.number, path: path, while: "opening the lock file")
        }
    }

    private func closeDescriptor() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
    }

    private func isCurrent() throws -> Bool {
        var mine = stat()
        guard fstat(descriptor, &mine) == 0 else {
            throw SQLiteError.system(errno, path: path, while: "looking at the lock file")
        }
        guard let named = try SQLiteFiles.status(of: path) else { return false }
        return named.identity.inode == UInt64(mine.st_ino)
            && named.identity.device == UInt64(truncatingIfNeeded: mine.st_dev)
    }
}
