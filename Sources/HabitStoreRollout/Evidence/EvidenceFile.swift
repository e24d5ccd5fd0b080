import Foundation
import HabitStore

/// An evidence file that is open and locked (`flock` on the file itself; who waited for one that was replaced meanwhile takes
/// the one that has its name now).
struct EvidenceFile: ~Copyable {
    enum Access {
        /// Beside other readers.
        case read
        /// Without a lock: what somebody is appending may be seen in part, and is no record then.
        case look
        /// Alone; the file is made if it is missing.
        case append
    }

    /// Which file it is, whatever its name.
    struct Identity: Sendable, Hashable {
        let device: UInt64
        let inode: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    /// How often a file may be replaced while it is waited for.
    private static let maximumReplacements = 100
    private let descriptor: Int32
    let path: String

    /// - Parameter waitSeconds: how long another process may have the file locked.
    /// - Throws: ``HabitStoreError/Code/notFound`` when there is no file to read, or no folder;
    ///   ``HabitStoreError/Code/busy`` when it stays locked.
    init(_ path: String, _ access: Access, waitSeconds: Double = EvidenceLog.lockWaitSeconds) throws {
        for _ in 0..<Self.maximumReplacements {
            if let opened = try Self.open(path, access, waitSeconds) {
                self.path = path
                descriptor = opened
                return
            }
        }
        throw HabitStoreError(.busy, "the evidence is replaced again and again; try again later", at: .init(path: path))
    }

    /// - Returns: nil when the file was replaced while it was waited for.
    private static func open(_ path: String, _ access: Access, _ waitSeconds: Double) throws -> Int32? {
        let flags = access == .append ? O_RDWR | O_APPEND | O_CREAT : O_RDONLY
        // Without O_NONBLOCK, opening a pipe of this name would wait for ever.
        let opened = Foundation.open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard opened >= 0 else { throw error("opened", errno, path) }
        do {
            if access != .look { try lock(opened, access == .append ? LOCK_EX : LOCK_SH, path, waitSeconds) }
            let status = try status(opened, path)
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw HabitStoreError(.inputOutput, "the evidence is not a file", at: .init(path: path))
            }
            var present = stat()
            if lstat(path, &present) == 0, Identity(present) == Identity(status) { return opened }
        } catch {
            close(opened)
            throw error
        }
        close(opened)
        return nil
    }

    deinit { close(descriptor) }

    func identity() throws -> Identity { Identity(try Self.status(descriptor, path)) }

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
        if length == 0 { try Self.synchronizeFolder(path) }
        do {
            guard ftruncate(descriptor, off_t(length)) == 0 else { throw Self.error("cut", errno, path) }
            try Self.write(bytes, to: descriptor, path)
            try Self.synchronize(descriptor, path)
        } catch {
            // Should this fail too, the record of something that did happen stays.
            _ = ftruncate(descriptor, off_t(length))
            throw error
        }
    }

    static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws {
        var position = 0
        while position < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                Foundation.write(descriptor, bytes.baseAddress?.advanced(by: position), bytes.count - position)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw error("written", errno, path) }
            position += count
        }
    }

    static func synchronize(_ descriptor: Int32, _ path: String) throws {
        #if canImport(Darwin)
        // fsync on Apple platforms does not reach past the drive's own cache.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw error("synced", errno, path) }
    }

    /// Makes sure that a file's name lasts.
    static func synchronizeFolder(_ path: String) throws {
        let folder = Foundation.open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw error("synced with its folder", errno, path) }
        defer { close(folder) }
        // Some file systems cannot sync a folder and say so with EINVAL: there is nothing more to do then.
        guard fsync(folder) == 0 || errno == EINVAL else { throw error("synced with its folder", errno, path) }
    }

    private static func lock(
        _ descriptor: Int32,
        _ operation: Int32,
        _ path: String,
        _ waitSeconds: Double
    ) throws {
        let deadline = ContinuousClock.now + .seconds(waitSeconds)
        var pause = 0.001
        while flock(descriptor, operation | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else { throw error("locked", errno, path) }
            guard ContinuousClock.now < deadline else {
                throw HabitStoreError(
                    .busy,
                    "another process has held this user's evidence for \(waitSeconds) s",
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

    static func error(_ action: String, _ number: Int32, _ path: String) -> HabitStoreError {
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
