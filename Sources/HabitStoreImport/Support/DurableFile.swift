import Foundation
import HabitStore

/// Files that are on the disk when they are said to be written.
enum DurableFile {
    /// The most bytes that ``read(_:limit:)`` takes unless it is told otherwise.
    static let defaultLimit = 256 << 20

    /// All bytes of a file.
    ///
    /// - Throws: ``HabitStoreError/Code/limitExceeded`` for a larger one, and an error for what is no file.
    static func read(_ path: String, limit: Int = defaultLimit) throws -> (bytes: [UInt8], status: stat) {
        // Opening a pipe would wait for ever.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable(errno, path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw unreadable(errno, path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw HabitStoreError(
                .invalidSource,
                "this is a folder, a device or a pipe; name a file",
                at: .init(path: path)
            )
        }
        guard status.st_size <= limit else {
            throw HabitStoreError(
                .limitExceeded,
                "the file has \(status.st_size) bytes; \(limit) are the most that are read at once",
                at: .init(path: path)
            )
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size) + 1)
        var count = 0
        while true {
            if count == bytes.count { bytes += [UInt8](repeating: 0, count: max(4_096, bytes.count)) }
            guard bytes.count <= 2 * limit else { throw unreadable(EFBIG, path) }
            let got = bytes.withUnsafeMutableBytes {
                Foundation.read(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count)
            }
            if got == 0 { break }
            if got > 0 {
                count += got
            } else if errno != EINTR {
                throw unreadable(errno, path)
            }
        }
        bytes.removeLast(bytes.count - count)
        return (bytes, status)
    }

    /// Writes a new file and brings it to the disk; what is at the path is removed first.
    ///
    /// - Parameter status: whose permissions and owner the file gets; those of a private file without it.
    static func create(_ path: String, _ bytes: some Sequence<UInt8>, like status: stat? = nil) throws {
        unlink(path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw HabitStoreError.system(errno, "no file can be made here", path) }
        do {
            defer { close(descriptor) }
            if let status {
                // Another owner can be kept by the superuser only.
                _ = fchown(descriptor, status.st_uid, status.st_gid)
                guard fchmod(descriptor, status.st_mode & 0o7777) == 0 else {
                    throw HabitStoreError.system(errno, "the file's permissions cannot be kept", path)
                }
            }
            try fill(descriptor, Array(bytes), path)
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Puts a file with these bytes in the place of whatever is at the path, which is there before and after, whole.
    static func replace(_ path: String, _ bytes: some Sequence<UInt8>) throws {
        let draft = path + ".new"
        try create(draft, bytes)
        guard rename(draft, path) == 0 else {
            let reason = errno
            unlink(draft)
            throw HabitStoreError.system(reason, "the file cannot be replaced", path)
        }
        try syncFolder(of: path)
    }

    /// Brings to the disk which files are in the folder of a path.
    static func syncFolder(of path: String) throws {
        let folder = self.folder(of: path)
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw HabitStoreError.system(errno, "the folder cannot be opened", folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw HabitStoreError.system(errno, "the folder cannot be brought to the disk", folder)
        }
    }

    /// The folder that a path stands in.
    static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Makes a folder, for its owner only, where there is none.
    static func makeFolder(_ path: String) throws {
        try PrivateFolder.make(path, or: .permissionDenied, "the folder cannot be made; check the permissions above it")
    }

    /// The path without links in it.
    static func resolved(_ path: String) throws -> String {
        guard !path.utf8.contains(0), !path.isEmpty else {
            throw HabitStoreError(.notFound, "there can be no file of this name", at: .init(path: path))
        }
        guard let resolved = realpath(path, nil) else { throw unreadable(errno, path) }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Writes bytes to an open file and brings it to the disk.
    static func fill(_ descriptor: Int32, _ bytes: [UInt8], _ path: String) throws {
        var position = 0
        while position < bytes.count {
            let count = bytes[position...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                position += count
            } else if errno != EINTR {
                throw HabitStoreError.system(errno, "the file cannot be written", path)
            }
        }
        guard fsync(descriptor) == 0 else {
            throw HabitStoreError.system(errno, "the file cannot be brought to the disk", path)
        }
    }

    private static func unreadable(_ number: Int32, _ path: String) -> HabitStoreError {
        HabitStoreError.system(number, number == ENOENT ? "there is no file here" : "the file cannot be read", path)
    }
}
