import DurableFiles
import Foundation
import HabitStore
import Hashing

/// Files of backups and of restores: what they are is checked before anything in them is believed.
enum KeptFiles {
    /// The most bytes of a file that says what others are.
    static let mostBytes = 16 << 20

    /// Whether anything stands at a path, be it a link that leads nowhere.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The same of a name in a folder, without an allocation: each opening of a user asks it.
    static func exists(_ name: StaticString, in folder: String) -> Bool {
        let count = folder.utf8.count + name.utf8CodeUnitCount + 2
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { buffer in
            var end = 0
            for byte in folder.utf8 {
                buffer[end] = byte
                end += 1
            }
            buffer[end] = UInt8(ascii: "/")
            end += 1
            name.withUTF8Buffer { bytes in
                for byte in bytes {
                    buffer[end] = byte
                    end += 1
                }
            }
            buffer[end] = 0
            guard let path = buffer.baseAddress else { return false }
            var status = stat()
            return path.withMemoryRebound(to: CChar.self, capacity: count) { lstat($0, &status) } == 0
        }
    }

    /// The number of the file at a path; nil where there is none.
    static func inode(_ path: String) -> UInt64? {
        var status = stat()
        return lstat(path, &status) == 0 ? UInt64(truncatingIfNeeded: status.st_ino) : nil
    }

    /// How long a file is, and the SHA-256 of its bytes in hexadecimal digits.
    static func digest(_ path: String) throws -> (sizeBytes: Int, sha256: String) {
        try told("cannot be read") {
            let file = try regular(path)
            var hasher = SHA256()
            var size = 0
            try file.forEachChunk { bytes, _ in
                hasher.update(bufferPointer: bytes)
                size += bytes.count
                return true
            }
            return (size, hasher.finalize().hexadecimal)
        }
    }

    /// The bytes of a small file.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` where there is none, ``HabitStoreError/Code/corrupt`` for one that is too long.
    static func contents(_ path: String) throws -> Data {
        try told("cannot be read") {
            let file = try regular(path)
            guard try file.status().st_size <= mostBytes else {
                throw HabitStoreError(
                    .corrupt,
                    "the file is longer than the \(mostBytes) bytes that one of its kind may have",
                    at: .init(path: path)
                )
            }
            return try file.contents()
        }
    }

    /// Copies a file, and waits until the copy is on the disk.
    static func copy(_ source: String, to target: String) throws {
        try told("cannot be copied") {
            try FileCopy.copy(source, to: target)
            try DurableFile.synchronize(target)
        }
    }

    /// Makes a file of these bytes and brings it to the disk, with its name.
    static func create(_ path: String, _ data: Data) throws {
        try told("cannot be written") {
            try DurableFile.create(path, data)
            try DurableFile.synchronizeFolder(of: path)
        }
    }

    /// Gives a file or a folder another name, for good.
    static func move(_ source: String, to path: String) throws {
        try told("cannot be put in its place") { try DurableFile.move(source, to: path) }
    }

    /// Removes a file, or a folder with all that is in it; what is not there is as good as removed.
    static func remove(_ path: String) throws {
        guard exists(path) else { return }
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            // Somebody else may have been faster.
            guard exists(path) else { return }
            throw HabitStoreError(.inputOutput, "it cannot be removed", at: .init(path: path), underlying: error)
        }
    }

    /// The names in a folder, in their order.
    static func names(_ folder: String) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the folder cannot be read",
                at: .init(path: folder),
                underlying: error
            )
        }
    }

    /// A file, and neither a link nor a pipe, which would be waited for for ever.
    private static func regular(_ path: String) throws -> OpenFile {
        let file = try OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        guard try file.status().st_mode & S_IFMT == S_IFREG else {
            throw HabitStoreError(.corrupt, "what stands here is not a file", at: .init(path: path))
        }
        return file
    }

    private static func told<R: ~Copyable>(_ what: String, _ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let failure as FileFailure {
            let code: HabitStoreError.Code =
                switch failure.number {
                case ENOENT, ENOTDIR: .notFound
                case EACCES, EPERM, EROFS: .permissionDenied
                case ENOSPC, EDQUOT: .full
                default: .inputOutput
                }
            throw HabitStoreError(code, "the file \(what): \(failure.reason)", at: .init(path: failure.path))
        }
    }
}
