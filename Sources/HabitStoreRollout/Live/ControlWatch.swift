import CFaultGuard
import CFutex
import DurableFiles
import Foundation
import HabitStore
import Synchronization

/// A user's control file for live queries: mapped as long as a query follows the user, whether or not the user's stores are open.
///
/// A waiter sets the bell, checks whether anything was written meanwhile, and waits on it. A writer that finds the bell set resets it and wakes all
/// waiters, so a write without waiters costs one load.
final class ControlWatch: Sendable {
    private nonisolated(unsafe) let cells: ControlFile.Cell
    private let path: String
    private let inode: UInt64
    /// Following a user counts as having the user open.
    private let presence: UserPresence

    /// - Throws: ``HabitStoreError/Code/notFound`` if there is no complete control file.
    init(path: String) throws {
        do {
            let file = try OpenFile(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
            let status = try file.status()
            guard status.st_mode & S_IFMT == S_IFREG, status.st_size >= ControlFile.sizeBytes else {
                throw Self.none(path)
            }
            try UserPresence.enter(file.descriptor, path)
            let mapped = mmap(nil, ControlFile.sizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0)
            guard let mapped, mapped != MAP_FAILED else { throw Self.none(path) }
            guard habitstore_guard_page(mapped) == 0 else {
                munmap(mapped, ControlFile.sizeBytes)
                throw Self.none(path)
            }
            (self.path, inode) = (path, UInt64(truncatingIfNeeded: status.st_ino))
            cells = mapped.bindMemory(to: Atomic<UInt64>.self, capacity: ControlFile.sizeBytes / 8)
            presence = UserPresence(entered: file)
        } catch let error as FileFailure {
            throw HabitStoreError(.notFound, "the control file \(error)", at: .init(path: path))
        }
    }

    deinit {
        habitstore_unguard_page(cells)
        munmap(cells, ControlFile.sizeBytes)
    }

    private static func none(_ path: String) -> HabitStoreError {
        HabitStoreError(.notFound, "there is no control file to watch", at: .init(path: path))
    }

    /// Changes with each acknowledged write and each move, and differs between files.
    var changeNumber: UInt64 {
        (inode &* 31 &+ load(ControlFile.Place.mark)) &* 31 &+ load(ControlFile.Place.word)
    }

    /// Whether the mapped file is still the one in the user's folder, and not truncated.
    var isInPlace: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && UInt64(truncatingIfNeeded: status.st_ino) == inode
            && load(0) == ControlFile.magic
    }

    /// Sets the bell.
    ///
    /// - Returns: the word to wait on, and its value until the bell is rung.
    func setBell() -> (word: UnsafePointer<UInt32>, value: UInt32) {
        let bell = cells[ControlFile.Place.bell].bitwiseOr(1, ordering: .sequentiallyConsistent).newValue
        return (ControlFile.bell(of: cells), UInt32(truncatingIfNeeded: bell))
    }

    private func load(_ cell: Int) -> UInt64 { cells[cell].load(ordering: .sequentiallyConsistent) }
}
