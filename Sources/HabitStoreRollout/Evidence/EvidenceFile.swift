import Foundation
import HabitStore

/// An evidence file that is open and locked (`flock` on the file itself, which is never replaced).
struct EvidenceFile: ~Copyable {
    enum Access {
        /// Beside other readers.
        case read
        /// Alone; the file is made if it is missing.
        case append
    }

    private static let lockTimeoutSeconds = 30.0
    private let descriptor: Int32
    private let path: String

    /// - Throws: ``HabitStoreError/Code/notFound`` when there is no file to read, or no folder.
    init(_ path: String, _ access: Access) throws {
        let flags = access == .append ? O_RDWR | O_APPEND | O_CREAT : O_RDONLY
        // Without O_NONBLOCK, opening a pipe of this name would wait for ever.
        let opened = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard opened >= 0 else { throw Self.error("opened", errno, path) }
        do {
            try Self.lock(opened, access == .append ? LOCK_EX : LOCK_SH, path)
            let status = try Self.status(opened, path)
            guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 0 else {
                throw HabitStoreError(
                    .inputOutput,
                    "the evidence is not a file, or was removed while it was waited for",
                    at: .init(path: path)
                )
            }
        } catch {
            close(opened)
            throw error
        }
        self.path = path
        descriptor = opened
    }

    deinit { close(descriptor) }

    func size() throws -> Int { Int(try Self.status(descriptor, path).st_size) }

    func read(_ range: Range<Int>) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            while count < range.count {
                let position = off_t(range.lowerBound + count)
                let part = pread(descriptor, buffer.baseAddress?.advanced(by: count), range.count - count, position)
                if part < 0, errno == EINTR { continue }
                guard part >= 0 else { throw Self.error("read", errno, path) }
                if part == 0 { break }
                count += part
            }
        }
    }

    /// Puts bytes behind the first `length` ones, and waits until they are on the disk.
    func write(_ bytes: [UInt8], at length: Int) throws {
        // The name has to last before anything is told to be there.
        if length == 0 { try synchronizeFolder() }
        do {
            guard ftruncate(descriptor, off_t(length)) == 0 else { throw Self.error("cut", errno, path) }
            var position = 0
            while position < bytes.count {
                let count = bytes.withUnsafeBytes { bytes in
                    Foundation.write(descriptor, bytes.baseAddress?.advanced(by: position), bytes.count - position)
                }
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw Self.error("written", errno, path) }
                position += count
            }
            try synchronize()
        } catch {
            // Should this fail too, the record of something that did happen stays.
            _ = ftruncate(descriptor, off_t(length))
            throw error
        }
    }

    private func synchronize() throws {
        #if canImport(Darwin)
        // fsync on Apple platforms does not reach past the drive's own cache.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw Self.error("synced", errno, path) }
    }

    private func synchronizeFolder() throws {
        let folder = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw Self.error("synced with its folder", errno, path) }
        defer { close(folder) }
        // Some file systems cannot sync a folder and say so with EINVAL: there is nothing more to do then.
        guard fsync(folder) == 0 || errno == EINVAL else { throw Self.error("synced with its folder", errno, path) }
    }

    private static func lock(_ descriptor: Int32, _ operation: Int32, _ path: String) throws {
        let deadline = ContinuousClock.now + .seconds(lockTimeoutSeconds)
        var pause = 0.001
        while flock(descriptor, operation | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw error("locked", errno, path) }
            guard ContinuousClock.now < deadline else {
                throw HabitStoreError(
                    .busy,
                    "another process has held this user's evidence for \(lockTimeoutSeconds) s",
                    at: .init(path: path)
                )
            }
            Thread.sleep(forTimeInterval: pause)
            pause = min(pause * 2, 0.05)
        }
    }

    private static func status(_ descriptor: Int32, _ path: String) throws -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw error("looked at", errno, path) }
        return status
    }

    private static func error(_ action: String, _ number: Int32, _ path: String) -> HabitStoreError {
        let code: HabitStoreError.Code =
            switch number {
            case ENOENT, ENOTDIR: .notFound
            case EACCES, EPERM, EROFS: .permissionDenied
            case ENOSPC, EDQUOT: .full
            default: .inputOutput
            }
        return HabitStoreError(
            code,
            "the evidence cannot be \(action): \(String(cString: strerror(number)))",
            at: .init(path: path)
        )
    }
}
