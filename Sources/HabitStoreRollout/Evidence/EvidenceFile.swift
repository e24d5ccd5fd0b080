import DurableFiles
import Foundation
import HabitStore

/// An open and locked evidence file. The lock is `flock` on the file itself; if the file was replaced during the wait, the one that has its name now
/// is locked.
struct EvidenceFile: ~Copyable {
    enum Access {
        /// A shared lock.
        case read
        /// No lock: a partly appended line may be seen, which does not count as a record.
        case look
        /// An exclusive lock; creates a missing file.
        case append
    }

    /// The file's identity, whatever its name.
    struct Identity: Sendable, Hashable {
        let device: UInt64
        let inode: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    /// How many replacements of the file to accept while waiting for it.
    private static let maximumReplacements = 100
    private let file: OpenFile
    let path: String

    /// - Parameter waitSeconds: how long to wait for a lock of another process.
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is no file to read, or no folder; ``HabitStoreError/Code/busy`` if it stays locked.
    init(_ path: String, _ access: Access, waitSeconds: Double = EvidenceLog.lockWaitSeconds) throws {
        for _ in 0..<Self.maximumReplacements {
            if let opened = try Self.open(path, access, waitSeconds) {
                self.path = path
                file = opened
                return
            }
        }
        throw HabitStoreError(.busy, "the evidence is replaced again and again; try again later", at: .init(path: path))
    }

    /// - Returns: nil if the file was replaced during the wait.
    private static func open(_ path: String, _ access: Access, _ waitSeconds: Double) throws -> OpenFile? {
        let flags = access == .append ? O_RDWR | O_APPEND | O_CREAT : O_RDONLY
        do {
            // Without O_NONBLOCK, opening a pipe of this name would wait forever.
            let file = try OpenFile(path, flags | O_NOFOLLOW | O_NONBLOCK)
            if access != .look {
                let lock = access == .append ? AdvisoryLock.exclusive : .shared
                try lock.take(file.descriptor, path: path, timeoutSeconds: waitSeconds)
            }
            let status = try file.status()
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw HabitStoreError(.inputOutput, "the evidence is not a file", at: .init(path: path))
            }
            var present = stat()
            guard lstat(path, &present) == 0, Identity(present) == Identity(status) else { return nil }
            return file
        } catch let failure as FileFailure where failure.isBusy {
            throw HabitStoreError(
                .busy,
                "another process has held this user's evidence for \(waitSeconds) s",
                at: .init(path: path)
            )
        } catch let failure as FileFailure {
            throw error(failure)
        }
    }

    func identity() throws -> Identity { Identity(try status()) }

    func size() throws -> Int { Int(try status().st_size) }

    private func status() throws -> stat { try Self.told { try file.status() } }

    func read(_ range: Range<Int>) throws -> [UInt8] {
        try Self.told {
            try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
                let room = UnsafeMutableRawBufferPointer(buffer.extracting(..<range.count))
                count = try file.read(into: room, at: off_t(range.lowerBound))
            }
        }
    }

    /// Writes bytes after the first `length` ones, durably.
    func write(_ bytes: [UInt8], at length: Int) throws {
        // The name must be durable before the contents count as written.
        if length == 0 { try Self.told { try DurableFile.synchronizeFolder(of: path) } }
        do {
            try file.truncate(to: off_t(length))
            try file.write(bytes)
            try file.synchronize()
        } catch {
            // If this fails too, the file keeps a record of something that did happen.
            _ = ftruncate(file.descriptor, off_t(length))
            throw Self.error(error)
        }
    }

    /// Passes the bytes of a range to `body` in chunks.
    func forEachChunk(in range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        try file.forEachChunk(in: off_t(range.lowerBound)..<off_t(range.upperBound)) { bytes, _ in
            try body(bytes)
            return true
        }
    }

    /// Runs `body`, and turns file failures into errors about the evidence.
    static func told<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let failure as FileFailure {
            throw error(failure)
        }
    }

    private static func error(_ failure: FileFailure) -> HabitStoreError {
        error(failure.step.rawValue, failure.number, failure.path)
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
            "the evidence \(action): \(String(cString: strerror(number)))",
            at: .init(path: path)
        )
    }
}
