import Foundation

/// A folder with an advisory lock (`flock`) on it, for one writer at a time across processes. The lock is on the folder
/// itself: a file that is replaced cannot carry one, and a lock file would stay behind.
struct LockedFolder: ~Copyable {
    private let descriptor: Int32
    private let path: String

    init(path: String, timeoutSeconds: Double) throws(FlagError) {
        self.path = path
        let opened = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { throw Self.error("the folder of the flag file cannot be opened", errno, path) }
        let deadline = ContinuousClock.now + .seconds(timeoutSeconds)
        var pause = 0.001
        while flock(opened, LOCK_EX | LOCK_NB) != 0 {
            let reason = errno
            guard reason == EWOULDBLOCK || reason == EINTR, ContinuousClock.now < deadline else {
                close(opened)
                guard reason == EWOULDBLOCK else { throw Self.error("the folder cannot be locked", reason, path) }
                throw FlagError(
                    .fileBusy,
                    "another process has been changing flag files in this folder for \(timeoutSeconds) s; try again",
                    at: FlagError.Location(file: path)
                )
            }
            Thread.sleep(forTimeInterval: pause)
            pause = min(pause * 2, 0.05)
        }
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// Puts a new file in the place of one in this folder. The name of the file that is written first is always the
    /// same, so that one that a crash left is written over.
    func replace(_ file: String, with bytes: [UInt8]) throws(FlagError) {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        let temporary = (path == "/" ? "" : path) + "/.\(name).new"
        unlink(temporary)
        let written = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard written >= 0 else { throw Self.error("no file can be made beside the flag file", errno, temporary) }
        do throws(FlagError) {
            defer { close(written) }
            try Self.fill(written, with: bytes, like: file, temporary)
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, file) == 0 else {
            let reason = errno
            unlink(temporary)
            throw Self.error("the flag file cannot be replaced", reason, file)
        }
        guard fsync(descriptor) == 0 else {
            throw Self.error("the flag file was replaced, but a power failure may undo it", errno, file)
        }
    }

    private static func fill(_ descriptor: Int32, with bytes: [UInt8], like file: String, _ path: String)
        throws(FlagError)
    {
        var status = stat()
        if stat(file, &status) == 0 {
            // Another owner can be kept by the superuser only, and a file without its permissions would not be read.
            _ = fchown(descriptor, status.st_uid, status.st_gid)
            guard fchmod(descriptor, status.st_mode & 0o7777) == 0 else {
                throw error("the flag file's permissions cannot be kept", errno, path)
            }
        }
        var position = 0
        while position < bytes.count {
            let count = bytes[position...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                let reason = errno
                if reason == EINTR { continue }
                throw error("the new flag file cannot be written", reason, path)
            }
            position += count
        }
        guard fsync(descriptor) == 0 else {
            throw error("the new flag file cannot be brought to the disk", errno, path)
        }
    }

    private static func error(_ message: String, _ number: Int32, _ path: String) -> FlagError {
        FlagError(
            .fileUnwritable,
            "\(message): \(String(cString: strerror(number)))",
            at: FlagError.Location(file: path)
        )
    }
}
