import Foundation
import HabitStore

/// Remembers under the root that the kill switch was pulled for everybody, until somebody re-arms: a file whose existence
/// is the memory, as the sentinel's is the signal.
struct KillLatch: Sendable {
    private static let name = "habit-store.killed"

    /// The file.
    let path: String

    init(root: String) { path = root + "/" + Self.name }

    /// Whether the kill switch was pulled and not re-armed.
    var isSet: Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Remembers it, and what pulled it.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` or ``HabitStoreError/Code/full`` when the file cannot be made, or nobody
    ///   can say that it is on the disk.
    func set(by trigger: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return }
            throw error("cannot be made")
        }
        defer { close(descriptor) }
        // The file is the latch, also where its text cannot be written.
        _ = Array("\(trigger)\n".utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard fsync(descriptor) == 0 else { throw error("cannot be brought to the disk") }
        try synchronizeFolder()
    }

    /// Forgets it.
    func clear() throws {
        if unlink(path) != 0 {
            guard errno == ENOENT else { throw error("cannot be removed") }
            return
        }
        try synchronizeFolder()
    }

    /// Makes the file's name, or that it is gone, survive a power cut.
    private func synchronizeFolder() throws {
        let folder = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw error("cannot be brought to the disk with its folder") }
        defer { close(folder) }
        // Some file systems cannot sync a folder and say so with EINVAL: there is nothing more to do then.
        guard fsync(folder) == 0 || errno == EINVAL else {
            throw error("cannot be brought to the disk with its folder")
        }
    }

    private func error(_ what: String) -> HabitStoreError {
        let reason = errno
        return HabitStoreError(
            reason == ENOSPC ? .full : .inputOutput,
            "the file that remembers the kill switch \(what): \(String(cString: strerror(reason)))",
            at: .init(path: path)
        )
    }
}
