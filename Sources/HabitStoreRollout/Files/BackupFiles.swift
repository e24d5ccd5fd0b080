import DurableFiles
import Foundation
import HabitStore
import Hashing

/// Files of backups and of restores: their type is checked before their contents are trusted.
enum BackupFiles {
    /// The most bytes of a file that is read into memory, such as a manifest.
    static let mostBytes = 16 << 20

    /// Whether there is anything at a path, even a dangling link.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The same for a name in a folder, without an allocation, since every opening of a user calls it.
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

    /// The size of a file; 0 if there is none.
    static func sizeBytes(_ path: String) -> Int64 {
        var status = stat()
        return lstat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The inode number of the file at a path; nil if there is none.
    static func inode(_ path: String) -> UInt64? {
        var status = stat()
        return lstat(path, &status) == 0 ? UInt64(truncatingIfNeeded: status.st_ino) : nil
    }

    /// The length of a file, and the SHA-256 of its bytes in hexadecimal digits.
    static func digest(_ path: String) throws -> (sizeBytes: Int, sha256: String) {
        try mappingErrors("cannot be read") {
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
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is none, ``HabitStoreError/Code/corrupt`` if it is too long.
    static func contents(_ path: String) throws -> Data {
        try mappingErrors("cannot be read") {
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

    /// Copies a file durably.
    static func copy(_ source: String, to target: String) throws {
        try mappingErrors("cannot be copied") {
            try FileCopy.copy(source, to: target)
            try DurableFile.synchronize(target)
        }
    }

    /// Creates a file with these bytes; contents and name are durable.
    static func create(_ path: String, _ data: Data) throws {
        try mappingErrors("cannot be written") {
            try DurableFile.create(path, data)
            try DurableFile.synchronizeFolder(of: path)
        }
    }

    /// Renames a file or a folder, durably.
    static func move(_ source: String, to path: String) throws {
        try mappingErrors("cannot be put in its place") { try DurableFile.move(source, to: path) }
    }

    /// Removes a file, or a folder with its contents, if it exists.
    static func remove(_ path: String) throws {
        guard exists(path) else { return }
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            // Another process may have removed it first.
            guard exists(path) else { return }
            throw HabitStoreError(.inputOutput, "it cannot be removed", at: .init(path: path), underlying: error)
        }
    }

    /// The sorted names in a folder.
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

    /// Opens a regular file. Opening a pipe could block forever, so links and pipes are refused.
    private static func regular(_ path: String) throws -> OpenFile {
        let file = try OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        guard try file.status().st_mode & S_IFMT == S_IFREG else {
            throw HabitStoreError(.corrupt, "what stands here is not a file", at: .init(path: path))
        }
        return file
    }

    private static func mappingErrors<R: ~Copyable>(_ what: String, _ body: () throws -> R) throws -> R {
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

/// The paths of a user's backups: `backups.jsonl` in the user's folder, one line each, so that an erasure finds them. A line is written before any
/// other part of the backup.
struct BackupList {
    /// A backup that was begun.
    struct Entry: Codable, Hashable {
        /// The backup's folder.
        let path: String
        /// The folder in which it is being made; nil for a finished backup that the user was restored from.
        let draft: String?
    }

    static let fileName = "backups.jsonl"
    private static let lockWaitSeconds = 10.0

    private let path: String

    init(_ directory: UserDirectory) { path = directory.path + "/" + Self.fileName }

    /// All backups, the oldest first. Invalid lines are skipped, and stay in the file.
    func entries() throws -> [Entry] {
        try lines().compactMap { try? JSONDecoder().decode(Entry.self, from: $0) }
    }

    /// Adds a backup, unless it is in the list.
    func add(_ entry: Entry) throws {
        try change { lines in
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let line = try encoder.encode(entry)
            if !lines.contains(line) { lines.append(line) }
        }
    }

    /// Removes a backup that failed.
    func remove(_ entry: Entry) throws {
        try change { lines in
            lines.removeAll { (try? JSONDecoder().decode(Entry.self, from: $0)) == entry }
        }
    }

    private func change(_ body: (inout [Data]) throws -> Void) throws {
        let lock = try FileLock(path: path + ".lock", timeoutSeconds: Self.lockWaitSeconds)
        defer { withExtendedLifetime(lock) {} }
        var lines = try lines()
        try body(&lines)
        do {
            try DurableFile.replace(path, Data(lines.map { $0 + Data("\n".utf8) }.joined()))
        } catch {
            throw HabitStoreError(
                error.number == ENOENT ? .notFound : .inputOutput,
                "the list of the user's backups \(error)",
                at: .init(path: path)
            )
        }
    }

    private func lines() throws -> [Data] {
        guard BackupFiles.exists(path) else { return [] }
        return try BackupFiles.contents(path).split(separator: UInt8(ascii: "\n")).map { Data($0) }
    }
}

/// The file `erasing` in a user's folder: while it exists, no process serves the user from there, and the next erasure finishes this one.
struct ErasureTombstone {
    static let fileName = "erasing"

    private let folder: String

    init(_ directory: UserDirectory) { folder = directory.path }

    /// Whether an erasure was begun. Costs a system call.
    var isThere: Bool { BackupFiles.exists("erasing", in: folder) }

    /// - Throws: ``HabitStoreError/Code/notFound`` if one was begun.
    func requireNone() throws {
        guard isThere else { return }
        throw HabitStoreError(
            .notFound,
            "the user is being erased and is not served; `\(OperatorCommand.name) user erase --user U` finishes it",
            at: .init(path: folder)
        )
    }

    /// Begins an erasure.
    func make() throws {
        let path = folder + "/" + Self.fileName
        do {
            // Must not name the user, since it outlives everything else.
            _ = try MarkerFile.make(path, "an erasure was begun; `\(OperatorCommand.name) user erase` finishes it\n")
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the erasure cannot be begun: the file \(error)",
                at: .init(path: path)
            )
        }
    }
}
