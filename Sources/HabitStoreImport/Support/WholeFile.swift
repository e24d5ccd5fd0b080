import DurableFiles
import Foundation
import HabitStore

/// Reads whole files.
package enum WholeFile {
    /// The default limit of ``read(_:limit:)`` in bytes.
    package static let defaultLimit = 256 << 20

    /// All bytes of a file.
    ///
    /// - Throws: ``HabitStoreError/Code/limitExceeded`` if it is larger than the limit, and an error if it is not a regular file.
    package static func read(_ path: String, limit: Int = defaultLimit) throws -> (bytes: [UInt8], status: stat) {
        // Opening a pipe would block.
        let file = try readable { try OpenFile(path, O_RDONLY | O_NONBLOCK) }
        let status = try readable { try file.status() }
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
                "the file has \(status.st_size) bytes; at most \(limit) are read",
                at: .init(path: path)
            )
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(status.st_size) + 1)
        try readable {
            try file.forEachChunk { chunk, _ in
                bytes += chunk
                return bytes.count <= limit
            }
        }
        // The file grew while it was read.
        guard bytes.count <= limit else { throw unreadable(EFBIG, path) }
        return (bytes, status)
    }

    /// Creates a private folder unless it exists.
    package static func makeFolder(_ path: String) throws {
        try PrivateFolder.make(path, or: .permissionDenied, "the folder cannot be made; check the permissions above it")
    }

    /// The path with symbolic links resolved.
    package static func resolved(_ path: String) throws -> String {
        guard !path.utf8.contains(0), !path.isEmpty else {
            throw HabitStoreError(.notFound, "this is not a valid file name", at: .init(path: path))
        }
        guard let resolved = realpath(path, nil) else { throw unreadable(errno, path) }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func readable<R: ~Copyable>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let failure as FileFailure {
            throw unreadable(failure.number, failure.path)
        }
    }

    private static func unreadable(_ number: Int32, _ path: String) -> HabitStoreError {
        HabitStoreError.system(number, number == ENOENT ? "there is no file here" : "the file cannot be read", path)
    }
}
