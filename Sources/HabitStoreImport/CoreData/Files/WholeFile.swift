import DurableFiles
import Foundation
import HabitStore
import Hashing

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

/// A file named after its contents, so that equal contents are stored once.
package enum ContentNamedFile {
    /// Writes the file unless it exists.
    ///
    /// - Parameters:
    ///   - contents: the contents that determine the name.
    ///   - header: written before the contents; it does not affect the name.
    ///   - kind: the prefix of the name.
    ///   - folder: created if it does not exist.
    /// - Returns: the path of the file.
    package static func write(_ contents: Data, behind header: Data = Data(), as kind: String, in folder: String) throws
        -> String
    {
        let path = "\(folder)/\(kind)-\(ContentDigest.of(contents).prefix(16)).jsonl"
        guard !FileManager.default.fileExists(atPath: path) else { return path }
        try WholeFile.makeFolder(folder)
        try FileFailure.mappingErrors { try DurableFile.replace(path, header + contents) }
        return path
    }
}

/// The SHA-256 of bytes, as 64 hexadecimal digits.
package enum ContentDigest {
    package static func of(_ bytes: some DataProtocol) -> String { SHA256.hash(data: bytes).hexadecimal }
}

/// A new private file, written in pieces.
final class BufferedFile {
    private static let limit = 1 << 18

    private let file: OpenFile
    private var buffer: [UInt8] = []

    init(_ path: String) throws {
        do {
            file = try OpenFile(newAt: path)
        } catch {
            throw HabitStoreError.system(error)
        }
    }

    func write(_ text: String) throws {
        buffer += text.utf8
        if buffer.count >= Self.limit { try flush() }
    }

    /// Writes everything to disk.
    func finish() throws {
        try flush()
        try FileFailure.mappingErrors { try file.synchronize() }
    }

    private func flush() throws {
        try FileFailure.mappingErrors { try file.write(buffer) }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// Identifiers in the order they were added, which may exceed memory. They are spilled to an unlinked file that disappears with the
/// process.
final class SpilledIdentifiers {
    /// The number of identifiers in memory at a time.
    static let batch = 2_000
    private static let size = MemoryLayout<uuid_t>.size

    private var descriptor: Int32 = -1
    private var pending: [UUID] = []
    /// The number of identifiers.
    private(set) var count = 0

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The number of identifiers in memory.
    var heldCount: Int { pending.count }

    func append(_ id: UUID) throws {
        pending.append(id)
        count += 1
        if pending.count == Self.batch { try spill() }
    }

    /// Calls `body` with all identifiers, up to ``batch`` at a time.
    func forEachBatch(_ body: ([UUID]) throws -> Void) throws {
        var position = 0
        while position < count - pending.count {
            let ids = try read(at: position)
            try body(ids)
            position += ids.count
        }
        if !pending.isEmpty { try body(pending) }
    }

    private func spill() throws {
        if descriptor < 0 { try makeFile() }
        let bytes = pending.flatMap { id in withUnsafeBytes(of: id.uuid) { Array($0) } }
        let number = bytes.withUnsafeBytes { OpenFile.write($0, to: descriptor) }
        guard number == 0 else {
            throw HabitStoreError.system(number, "what is set aside cannot be written", Self.folder)
        }
        pending.removeAll(keepingCapacity: true)
    }

    private func read(at position: Int) throws -> [UUID] {
        var bytes = [UInt8](repeating: 0, count: Self.batch * Self.size)
        var done = 0
        while done < bytes.count {
            let offset = off_t(position * Self.size + done)
            let got = bytes[done...].withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, offset) }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else {
                throw HabitStoreError.system(got < 0 ? errno : EIO, "what was set aside cannot be read", Self.folder)
            }
            done += got
        }
        return stride(from: 0, to: bytes.count, by: Self.size).map { start in
            bytes[start..<(start + Self.size)].withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        }
    }

    private static var folder: String { FileManager.default.temporaryDirectory.path }

    private func makeFile() throws {
        let path = "\(Self.folder)/habitstore-identifiers-\(UUID().uuidString)"
        descriptor = try FileFailure.mappingErrors { try OpenFile.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW) }
        unlink(path)
    }
}

extension HabitStoreError.Code {
    /// A source file is damaged or malformed.
    public static let invalidSource = Self(rawValue: "invalidSource")
    /// A source file is in an earlier state than one that was already imported.
    public static let olderSource = Self(rawValue: "olderSource")
    /// A source file has an unknown format.
    public static let unknownFormat = Self(rawValue: "unknownFormat")
}
