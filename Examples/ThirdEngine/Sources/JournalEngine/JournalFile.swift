import Foundation
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The open file. It is closed when nothing uses it any more.
///
/// It uses two locks of the system, which end with the process that holds them. A write transaction holds the writer lock, on a separate file next to
/// this
/// one, so that there is one writer in all processes. The commit lock is on the file itself: a writer holds it while a frame is written to the disk,
/// and
/// readers share it while they read new commits, so that no reader sees a commit that is not durable.
final class JournalFile: Sendable {
    static let lockSuffix = "-lock"
    /// How long to wait for a lock before its holder is considered frozen.
    private static let waitSeconds = 5.0

    let path: String
    private let descriptor: Int32
    private let identity: (device: UInt64, inode: UInt64)

    /// Opens or creates a file.
    init(path: String, access: StoreAccess) throws {
        self.path = path
        // So that opening a pipe does not wait for its other end.
        let flags = (access == .readOnly ? O_RDONLY : O_RDWR) | O_NONBLOCK
        var descriptor = open(path, flags | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT, access == .create {
            try Self.make(path, JournalHeader.new(), mayExist: true)
            descriptor = open(path, flags | O_CLOEXEC)
        }
        guard descriptor >= 0 else { throw Self.error("the journal cannot be opened", path) }
        self.descriptor = descriptor
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw HabitStoreError(
                .notAStore,
                "the journal's path leads to something that is not a file",
                at: .init(path: path)
            )
        }
        identity = (UInt64(truncatingIfNeeded: status.st_dev), UInt64(truncatingIfNeeded: status.st_ino))
    }

    deinit { close(descriptor) }

    /// Creates a file atomically, accessible only to its owner.
    static func make(_ path: String, _ bytes: [UInt8], mayExist: Bool) throws {
        let draft = "\(path)-new-\(UUID().uuidString)"
        let descriptor = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw error("the journal cannot be made", path) }
        defer {
            close(descriptor)
            unlink(draft)
        }
        try write(bytes, to: descriptor, at: 0, path)
        guard fsync(descriptor) == 0 else { throw error("the journal cannot be made", path) }
        guard link(draft, path) == 0 || (mayExist && errno == EEXIST) else {
            throw error("the journal cannot be given its name", path)
        }
        let folder = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw error("the journal's folder cannot be opened", path) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw error("the journal's folder cannot be brought to the disk", path) }
    }

    // MARK: Reading

    /// The file's length.
    var size: Int {
        get throws {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw Self.error("the journal cannot be read", path) }
            return Int(status.st_size)
        }
    }

    /// The bytes of a range.
    func read(_ range: Range<Int>) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var done = 0
        while done < bytes.count {
            let part = bytes.withUnsafeMutableBytes { buffer in
                pread(
                    descriptor,
                    buffer.baseAddress?.advanced(by: done),
                    buffer.count - done,
                    off_t(range.lowerBound + done)
                )
            }
            if part < 0, errno == EINTR { continue }
            guard part >= 0 else { throw Self.error("the journal cannot be read", path) }
            // The file ends earlier than before: a torn commit was cut off meanwhile.
            guard part > 0 else { return Array(bytes[..<done]) }
            done += part
        }
        return bytes
    }

    // MARK: Writing

    /// Checks that the path still leads to this file.
    ///
    /// - Throws: `fileMoved`; writes to a file without a name would be lost.
    func requireInPlace() throws {
        var status = stat()
        guard stat(path, &status) == 0, UInt64(truncatingIfNeeded: status.st_dev) == identity.device,
            UInt64(truncatingIfNeeded: status.st_ino) == identity.inode
        else {
            throw HabitStoreError(
                .fileMoved,
                "the journal was moved, replaced or deleted while it was open; close the store and open it again",
                at: .init(path: path)
            )
        }
    }

    /// Writes at `place`, and syncs the file to the disk.
    ///
    /// - Throws: `outcomeUnknown` if the bytes may or may not be there; any other error if they are not.
    func append(_ bytes: [UInt8], at place: Int) throws {
        do {
            try Self.write(bytes, to: descriptor, at: place, path)
            guard fsync(descriptor) == 0 else { throw Self.error("the commit could not be brought to the disk", path) }
        } catch {
            // If this fails as well, a whole frame may remain. A part of one does not count.
            guard ftruncate(descriptor, off_t(place)) == 0, fsync(descriptor) == 0 else {
                throw HabitStoreError(
                    .outcomeUnknown,
                    "the commit failed, and so did taking it back; read the store again to know",
                    at: .init(path: path),
                    underlying: error
                )
            }
            throw error
        }
    }

    /// Cuts the file at `place`: removes the torn end of a commit that was never acknowledged.
    func cut(at place: Int) throws {
        guard ftruncate(descriptor, off_t(place)) == 0, fsync(descriptor) == 0 else {
            throw Self.error("a torn commit cannot be cut off", path)
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32, at place: Int, _ path: String) throws {
        var done = 0
        while done < bytes.count {
            let part = bytes.withUnsafeBytes { buffer in
                pwrite(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(place + done))
            }
            if part < 0, errno == EINTR { continue }
            guard part >= 0 else { throw error("the journal cannot be written", path) }
            done += part
        }
    }

    // MARK: Locks

    /// Runs `body` as the only writer.
    func withWriterLock<R>(_ body: () throws -> R) throws -> R {
        let lock = open(path + Self.lockSuffix, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw Self.error("the lock of writers cannot be opened", path) }
        defer { close(lock) }
        try Self.lock(lock, LOCK_EX, "another write has the journal for longer than \(Self.waitSeconds) s", path)
        return try body()
    }

    /// Runs `body` while no commit is written to the disk; a commit needs `isExclusive`.
    func withCommitLock<R>(isExclusive: Bool, _ body: () throws -> R) throws -> R {
        let kind = isExclusive ? LOCK_EX : LOCK_SH
        try Self.lock(
            descriptor,
            kind,
            "another process has been committing for longer than \(Self.waitSeconds) s",
            path
        )
        defer { flock(descriptor, LOCK_UN) }
        return try body()
    }

    private static func lock(_ descriptor: Int32, _ kind: Int32, _ reason: String, _ path: String) throws {
        let deadline = ContinuousClock.now + .seconds(waitSeconds)
        while flock(descriptor, kind | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw error("the journal cannot be locked", path) }
            guard ContinuousClock.now < deadline else {
                throw HabitStoreError(.busy, "\(reason); try again", at: .init(path: path))
            }
            usleep(500)
        }
    }

    // MARK: Errors

    /// The error for the system's last error number.
    private static func error(_ message: String, _ path: String) -> HabitStoreError {
        let number = errno
        let code: HabitStoreError.Code =
            switch number {
            case ENOENT: .notFound
            case EISDIR, ENOTDIR, ELOOP: .notAStore
            case EACCES, EPERM, EROFS: .permissionDenied
            case ENOSPC, EDQUOT, EFBIG: .full
            default: .inputOutput
            }
        return HabitStoreError(code, "\(message): \(String(cString: strerror(number)))", at: .init(path: path))
    }
}
