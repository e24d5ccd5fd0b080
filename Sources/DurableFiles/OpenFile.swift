import Foundation

/// An open file or folder, closed with this value. A file that it creates is for its owner only, and child processes do not inherit
/// it.
package struct OpenFile: ~Copyable, Sendable {
    /// The maximum number of bytes in one read.
    package static let chunkBytes = 1 << 20

    /// The file descriptor.
    package let descriptor: Int32
    /// The path that errors name.
    package let path: String

    /// Opens or creates what is at a path: `flags` are those of `open(2)`.
    package init(_ path: String, _ flags: Int32) throws(FileFailure) {
        descriptor = try Self.open(path, flags)
        self.path = path
    }

    /// Creates a file at an unused path, at which there is not even a link.
    package init(newAt path: String) throws(FileFailure) {
        try self.init(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
    }

    /// Opens a folder.
    package init(folder path: String) throws(FileFailure) {
        descriptor = try Self.openFolder(path)
        self.path = path
    }

    deinit { close(descriptor) }

    /// The descriptor of a file; the caller closes it.
    package static func open(_ path: String, _ flags: Int32) throws(FileFailure) -> Int32 {
        let opened = Foundation.open(path, flags | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw FileFailure(flags & O_EXCL == 0 ? .open : .make, path) }
        return opened
    }

    /// The descriptor of a folder; the caller closes it.
    ///
    /// - Parameters:
    ///   - parent: the folder in which to open `name`, instead of the whole path.
    ///   - isLink: whether it may be a symbolic link.
    package static func openFolder(
        _ path: String,
        in parent: (descriptor: Int32, name: String)? = nil,
        mayBeLink isLink: Bool = true
    ) throws(FileFailure) -> Int32 {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (isLink ? 0 : O_NOFOLLOW)
        let opened = openat(parent?.descriptor ?? AT_FDCWD, parent?.name ?? path, flags)
        guard opened >= 0 else { throw FileFailure(.open, path) }
        return opened
    }

    /// The result of `fstat`.
    package func status() throws(FileFailure) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileFailure(.examine, path) }
        return status
    }

    // MARK: Writing

    /// Writes all bytes at a position, or after the last write.
    package func write(_ bytes: some ContiguousBytes, at position: off_t? = nil) throws(FileFailure) {
        let number = bytes.withUnsafeBytes { Self.write($0, to: descriptor, at: position) }
        guard number == 0 else { throw FileFailure(.write, path, number) }
    }

    /// Truncates the file, or extends it with zeros.
    package func truncate(to length: off_t) throws(FileFailure) {
        guard ftruncate(descriptor, length) == 0 else { throw FileFailure(.write, path) }
    }

    /// Writes all bytes to a descriptor.
    ///
    /// - Returns: 0, or the `errno` of the failure.
    package static func write(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32,
        at position: off_t? = nil
    ) -> Int32 {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count =
                if let position {
                    pwrite(descriptor, rest.baseAddress, rest.count, position + off_t(done))
                } else {
                    Foundation.write(descriptor, rest.baseAddress, rest.count)
                }
            if count >= 0 {
                done += count
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    // MARK: Reading

    /// Fills the buffer from a position, and returns the number of bytes read: fewer at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at position: off_t) throws(FileFailure) -> Int {
        let count = Self.read(descriptor, into: buffer, at: position)
        guard count >= 0 else { throw FileFailure(.read, path) }
        return count
    }

    /// Fills the buffer from a position in a descriptor's file, and returns the number of bytes read; -1 for an error in `errno`.
    package static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at position: off_t) -> Int
    {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = pread(descriptor, rest.baseAddress, rest.count, position + off_t(filled))
            if count == 0 { break }
            if count > 0 {
                filled += count
            } else if errno != EINTR {
                return -1
            }
        }
        return filled
    }

    /// The bytes of the file, at most `limit` of them.
    package func contents(limit: Int = .max) throws -> Data {
        var data = Data()
        try forEachChunk(in: 0..<off_t(limit)) { bytes, _ in
            data.append(contentsOf: bytes)
            return true
        }
        return data
    }

    /// Passes bytes and their position to `body`, chunk by chunk and in order, until it returns false or they end.
    ///
    /// - Parameters:
    ///   - range: the range of bytes; a shorter file ends it.
    ///   - skipsHoles: whether to leave out what the file system knows to be zeros.
    ///   - limit: the maximum size of a chunk in bytes.
    package func forEachChunk(
        in range: Range<off_t> = 0..<off_t.max,
        skipsHoles: Bool = false,
        limit: Int = chunkBytes,
        _ body: (UnsafeRawBufferPointer, off_t) throws -> Bool
    ) throws {
        try withUnsafeTemporaryAllocation(byteCount: limit, alignment: 16) { buffer in
            var position = range.lowerBound
            while position < range.upperBound {
                var end = range.upperBound
                if skipsHoles {
                    guard let data = try data(from: position) else { return }
                    position = data.lowerBound
                    end = min(end, data.upperBound)
                }
                while position < end {
                    let part = UnsafeMutableRawBufferPointer(
                        rebasing: buffer[..<Int(min(off_t(limit), end - position))]
                    )
                    let count = try read(into: part, at: position)
                    // The end of the file, which may have been truncated meanwhile.
                    guard count > 0 else { return }
                    guard try body(UnsafeRawBufferPointer(rebasing: part[..<count]), position) else { return }
                    position += off_t(count)
                }
            }
        }
    }

    /// The next bytes that may not be 0, from a position on; nil if there are none before the end.
    private func data(from position: off_t) throws(FileFailure) -> Range<off_t>? {
        // glibc defines these names only for C.
        #if canImport(Darwin)
        let (seekHole, seekData): (Int32, Int32) = (3, 4)
        #else
        let (seekData, seekHole): (Int32, Int32) = (3, 4)
        #endif
        let start = lseek(descriptor, position, seekData)
        if start < 0 {
            if errno == ENXIO { return nil }
            guard errno == EINVAL || errno == ENOTSUP else { throw FileFailure(.read, path) }
            // The file system does not support holes.
            let end = lseek(descriptor, 0, SEEK_END)
            return position < end ? position..<end : nil
        }
        let end = lseek(descriptor, start, seekHole)
        guard end > start else { throw FileFailure(.read, path) }
        return start..<end
    }

    // MARK: The disk

    /// Waits until the contents are on the disk.
    package func synchronize() throws(FileFailure) {
        #if canImport(Darwin)
        // On Apple platforms, fsync does not flush the drive's own cache.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw FileFailure(.synchronize, path) }
    }

    /// For a folder: waits until the names of its files are on the disk.
    package func synchronizeNames() throws(FileFailure) {
        do {
            try synchronize()
        } catch {
            // Some file systems cannot sync a folder and return EINVAL: there is nothing more to do then.
            guard error.number == EINVAL else { throw FileFailure(.synchronizeFolder, path, error.number) }
        }
    }
}

/// An operation on a file that the system refused. Callers translate it to their own error and name the kind of file.
package struct FileFailure: Error, Sendable, CustomStringConvertible {
    /// The operation, in words that follow the name of the file.
    package enum Step: String, Sendable {
        case open = "cannot be opened"
        case make = "cannot be made"
        case examine = "cannot be looked at"
        case read = "cannot be read"
        case keepPermissions = "cannot be given its permissions"
        case write = "cannot be written"
        case synchronize = "cannot be brought to the disk"
        case synchronizeFolder = "cannot be brought to the disk with its folder"
        case replace = "cannot be put in its place"
        case remove = "cannot be removed"
        case lock = "cannot be locked"
    }

    /// The operation that failed.
    package let step: Step
    /// The `errno`.
    package let number: Int32
    /// The file or folder.
    package let path: String

    package init(_ step: Step, _ path: String, _ number: Int32 = errno) {
        self.step = step
        self.path = path
        self.number = number
    }

    /// Whether the lock was held by another user for too long.
    package var isBusy: Bool { step == .lock && number == EWOULDBLOCK }

    /// The system's message for the `errno`.
    package var reason: String { String(cString: strerror(number)) }

    /// What failed and why, in words that follow the name of the file.
    package var description: String { "\(step.rawValue): \(reason)" }
}

/// Locks between processes through `flock`. The system releases them when their process dies. They belong to the open file: two
/// descriptors of one process also exclude each other.
package enum AdvisoryLock: Sendable {
    /// Allows other shared locks.
    case shared
    /// Excludes all other locks.
    case exclusive

    /// The pauses between two attempts: `flock` has no time limit, and a library should not use up a signal for one.
    package struct Pauses: Sendable {
        let first: UInt32
        let longest: UInt32

        /// - Parameter microseconds: the first and the longest pause; each is twice as long as the previous one.
        package init(microseconds: ClosedRange<UInt32>) {
            first = microseconds.lowerBound
            longest = microseconds.upperBound
        }

        /// For locks that are rarely contended and held for long.
        package static let long = Pauses(microseconds: 1_000...50_000)
    }

    /// Acquires the lock of an open file if it is free.
    package func tryTake(_ descriptor: Int32, path: String) throws(FileFailure) -> Bool {
        while flock(descriptor, (self == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            let failure = FileFailure(.lock, path)
            if failure.number == EINTR { continue }
            if failure.isBusy { return false }
            throw failure
        }
        return true
    }

    /// Acquires the lock of an open file, and waits for it.
    ///
    /// - Throws: a ``FileFailure`` that is busy if the lock is held for longer than `timeoutSeconds`.
    package func take(_ descriptor: Int32, path: String, timeoutSeconds: Double) throws(FileFailure) {
        let deadline = ContinuousClock.now + .seconds(timeoutSeconds)
        let isTaken = try Self.wait(
            .long,
            while: { ContinuousClock.now < deadline },
            for: { () throws(FileFailure) in try tryTake(descriptor, path: path) }
        )
        guard isTaken else { throw FileFailure(.lock, path, EWOULDBLOCK) }
    }

    /// Releases the lock of an open file.
    package static func release(_ descriptor: Int32) { flock(descriptor, LOCK_UN) }

    /// Retries until an attempt succeeds or time runs out.
    ///
    /// - Returns: whether an attempt succeeded.
    package static func wait<E: Error>(
        _ pauses: Pauses,
        while hasTime: () -> Bool,
        for attempt: () throws(E) -> Bool
    ) throws(E) -> Bool {
        var pause = pauses.first
        while try !attempt() {
            guard hasTime() else { return false }
            usleep(pause)
            pause = min(pause * 2, pauses.longest)
        }
        return true
    }
}

/// A file or folder that is locked as long as this value lives. Lock a folder if its files are replaced: those cannot carry a lock,
/// and a lock file would stay behind.
package struct LockedFile: ~Copyable, Sendable {
    private let file: OpenFile

    /// Locks a file, which is created if it is missing.
    ///
    /// - Throws: a ``FileFailure`` that is busy if the lock is held for longer than `timeoutSeconds`.
    package init(_ path: String, timeoutSeconds: Double) throws(FileFailure) {
        file = try Self.locked(try OpenFile(path, O_RDWR | O_CREAT), timeoutSeconds)
    }

    /// Locks a folder.
    ///
    /// - Throws: a ``FileFailure`` that is busy if the lock is held for longer than `timeoutSeconds`.
    package init(folder path: String, timeoutSeconds: Double) throws(FileFailure) {
        file = try Self.locked(try OpenFile(folder: path), timeoutSeconds)
    }

    private static func locked(
        _ file: consuming OpenFile,
        _ timeoutSeconds: Double
    ) throws(FileFailure) -> OpenFile {
        try AdvisoryLock.exclusive.take(file.descriptor, path: file.path, timeoutSeconds: timeoutSeconds)
        return file
    }
}
