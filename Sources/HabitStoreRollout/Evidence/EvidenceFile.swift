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

    private func status() throws -> stat { try Self.mappingErrors { try file.status() } }

    func read(_ range: Range<Int>) throws -> [UInt8] {
        try Self.mappingErrors {
            try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
                let room = UnsafeMutableRawBufferPointer(buffer.extracting(..<range.count))
                count = try file.read(into: room, at: off_t(range.lowerBound))
            }
        }
    }

    /// Writes bytes after the first `length` ones, durably.
    func write(_ bytes: [UInt8], at length: Int) throws {
        // The name must be durable before the contents count as written.
        if length == 0 { try Self.mappingErrors { try DurableFile.synchronizeFolder(of: path) } }
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
    static func mappingErrors<R>(_ body: () throws -> R) throws -> R {
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

extension EvidenceFile {
    enum Part {
        /// A line with its newline.
        case line(UnsafeRawBufferPointer)
        /// A line, newline included, that exceeds the limit.
        case overlong
        /// The bytes at the end without a newline, no longer than a line.
        case rest(UnsafeRawBufferPointer)
    }

    private static let blockBytes = 1_048_576

    /// Passes on the lines of a range, read in blocks, so that memory does not grow with the file.
    ///
    /// - Parameter body: receives each part, and its length in the file in bytes.
    func forEachPart(_ range: Range<Int>, _ body: (Part, _ length: Int) throws -> Void) throws {
        var kept: [UInt8] = []
        /// The number of bytes dropped of an overlong line.
        var dropped = 0
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Self.blockBytes) {
            kept += try read(start..<min(start + Self.blockBytes, range.upperBound))
            var done = 0
            try kept.withUnsafeBytes { bytes in
                while let length = EvidenceLine.length(UnsafeRawBufferPointer(rebasing: bytes[done...])) {
                    if dropped + length > EvidenceLog.maximumLineBytes {
                        try body(.overlong, dropped + length)
                    } else {
                        try body(.line(UnsafeRawBufferPointer(rebasing: bytes[done..<done + length])), length)
                    }
                    dropped = 0
                    done += length
                }
            }
            kept.removeSubrange(..<done)
            if kept.count > EvidenceLog.maximumLineBytes {
                dropped += kept.count
                kept = []
            }
        }
        if dropped > 0 {
            try body(.overlong, dropped + kept.count)
        } else if !kept.isEmpty {
            try kept.withUnsafeBytes { try body(.rest($0), kept.count) }
        }
    }

    /// The start of the last intact checkpoint that counts; nil if there is none.
    ///
    /// - Parameter lowest: where to stop: the start of a line; otherwise the next line is the first one considered.
    func lastCheckpoint(below size: Int, from lowest: Int = 0, _ trust: EvidenceTrust) throws -> Int? {
        var found: Int?
        try forEachPlace(below: size, from: lowest, EvidenceLine.checkpoints) { place in
            if try isCheckpoint(at: place, size, trust) { found = place }
            return found == nil
        }
        return found
    }

    /// Passes on the places of lines found by their beginning, the last one first, until `body` returns false.
    ///
    /// - Parameter find: the places in the bytes at which such lines start, the last one first; it receives whether a line begins with the first
    ///   byte.
    func forEachPlace(
        below size: Int,
        from lowest: Int = 0,
        _ find: (_ bytes: [UInt8], _ beginsLine: Bool) -> [Int],
        _ body: (Int) throws -> Bool
    ) throws {
        var end = size
        while end > lowest {
            let start = max(lowest, end - EvidenceLog.checkpointEveryBytes)
            // A line that crosses the border of two blocks is found in the earlier one; one that begins at the border, by the newline before it.
            let first = max(lowest, start - 1)
            let bytes = try read(first..<min(size, end + EvidenceLine.lengthBeforeEvent))
            for line in find(bytes, first == lowest) where line + first < end {
                guard try body(first + line) else { return }
            }
            end = start
        }
    }

    /// The record whose line begins at `start`.
    ///
    /// - Throws: `EvidenceLine.Fault` if there is none.
    func record(at start: Int, _ size: Int) throws -> EvidenceRecord {
        try line(at: start, size) { try EvidenceLine.parse($0) }
    }

    private func line<R>(at start: Int, _ size: Int, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        let bytes = try read(start..<min(size, start + EvidenceLog.maximumLineBytes))
        return try bytes.withUnsafeBytes { bytes in
            try body(UnsafeRawBufferPointer(rebasing: bytes[..<(EvidenceLine.length(bytes) ?? 0)]))
        }
    }

    private func isCheckpoint(at start: Int, _ size: Int, _ trust: EvidenceTrust) throws -> Bool {
        do {
            return try line(at: start, size) { bytes in
                let record = try EvidenceLine.parse(bytes)
                guard case .checkpoint = record.event else { return false }
                return trust.doubt(record.sequence, bytes) == nil
            }
        } catch is EvidenceLine.Fault {
            return false
        }
    }
}

extension EvidenceFile {
    /// The end of a file, where an append continues.
    struct Tail {
        /// The number of bytes to keep; a crash left those after them.
        let length: Int
        /// Whether the last byte should be a newline but is not.
        let lacksNewline: Bool
        /// The head that the next record follows. After a damaged line: the hash of its bytes (of the last ones, for a very long line), and its
        /// number in the file.
        let head: EvidenceHead
    }

    func tail() throws -> Tail {
        let size = try size()
        // Room for a whole line, and a torn one after it.
        let start = max(0, size - 2 * EvidenceLog.maximumLineBytes)
        var bytes = try read(start..<size)
        var lacksNewline = false
        if let last = bytes.last, last != EvidenceLine.newline {
            let rest = bytes.lastIndex(of: EvidenceLine.newline).map { $0 + 1 } ?? 0
            if bytes[rest...].withUnsafeBytes(EvidenceLine.isTorn) {
                bytes.removeSubrange(rest...)
            } else {
                lacksNewline = true
                bytes.append(EvidenceLine.newline)
            }
        }
        let length = start + bytes.count - (lacksNewline ? 1 : 0)
        guard !bytes.isEmpty else { return Tail(length: 0, lacksNewline: false, head: .start) }
        let line = bytes.dropLast().lastIndex(of: EvidenceLine.newline).map { $0 + 1 } ?? 0
        let head = try bytes[line...].withUnsafeBytes { bytes in
            if let record = try? EvidenceLine.parse(bytes) { return record.head }
            let hash = EvidenceLine.text(EvidenceLine.hash(of: bytes))
            return EvidenceHead(sequence: try countLines(length) + (lacksNewline ? 1 : 0), hash: hash)
        }
        return Tail(length: length, lacksNewline: lacksNewline, head: head)
    }

    /// The number of lines that end in the first `length` bytes.
    func countLines(_ length: Int) throws -> Int {
        var count = 0
        for start in stride(from: 0, to: length, by: 1_048_576) {
            count += try read(start..<min(start + 1_048_576, length)).count { $0 == EvidenceLine.newline }
        }
        return count
    }
}

extension EvidenceFile {
    /// Moves the first `length` bytes to a separate file next to this one. Both files are durable when it returns; after a kill in between, the bytes
    /// are in both.
    func archive(_ length: Int, as name: String) throws {
        try copy(0..<length, to: Self.beside(path, name))
        CrashPoint.reach("evidence.archived")
        try copy(length..<(try size()), to: path)
        CrashPoint.reach("evidence.shortened")
    }

    /// Gives the file a second name in its folder, durably, so that a new file can take the first.
    func keep(as name: String) throws {
        guard link(path, Self.beside(path, name)) == 0 else {
            throw Self.error("cannot be kept under another name", errno, path)
        }
        try Self.mappingErrors { try DurableFile.synchronizeFolder(of: path) }
    }

    /// Replaces whatever is at the path with bytes, atomically and durably.
    static func replace(_ path: String, with bytes: [UInt8]) throws {
        try mappingErrors { try DurableFile.replace(path, bytes) }
    }

    /// The path of a file in the same folder.
    static func beside(_ path: String, _ name: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent(name).path
    }

    private func copy(_ range: Range<Int>, to target: String) throws {
        try Self.mappingErrors {
            try DurableFile.replace(target) { copy in try forEachChunk(in: range) { try copy.write($0) } }
        }
    }
}
