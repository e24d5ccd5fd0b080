import CFaultGuard
import CFutex
import DurableFiles
import Foundation
import HabitStore
import Synchronization

/// A user's control file as live queries look at it: mapped for as long as somebody follows the user, whether or not the user's
/// stores are open.
///
/// Whoever waits sets the bell, looks whether anything has been written meanwhile, and waits on it; whoever has written and finds
/// it set takes it back and wakes all who wait. So a write that nobody waits for costs one look at a word.
final class ControlWatch: Sendable {
    private nonisolated(unsafe) let cells: ControlFile.Cell
    private let path: String
    private let inode: UInt64
    /// Who follows a user has the user open.
    private let presence: UserPresence

    /// - Throws: ``HabitStoreError/Code/notFound`` where there is no control file that is whole.
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

    /// Another number after each write that was acknowledged, and each move; and for each file.
    var changeNumber: UInt64 {
        (inode &* 31 &+ load(ControlFile.Place.mark)) &* 31 &+ load(ControlFile.Place.word)
    }

    /// Whether the file that is mapped is the one that stands in the user's folder, and nothing of it was cut off.
    var isInPlace: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && UInt64(truncatingIfNeeded: status.st_ino) == inode
            && load(0) == ControlFile.magic
    }

    /// Sets the bell.
    ///
    /// - Returns: the word to wait on, and what it is until somebody rings.
    func setBell() -> (word: UnsafePointer<UInt32>, value: UInt32) {
        let bell = cells[ControlFile.Place.bell].bitwiseOr(1, ordering: .sequentiallyConsistent).newValue
        return (ControlFile.bell(of: cells), UInt32(truncatingIfNeeded: bell))
    }

    private func load(_ cell: Int) -> UInt64 { cells[cell].load(ordering: .sequentiallyConsistent) }
}
