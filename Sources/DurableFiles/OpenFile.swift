import Foundation

/// An open file or folder, which is closed with this value. A file that it makes is for its owner only, and no child process
/// inherits it.
package struct OpenFile: ~Copyable, Sendable {
    /// The most bytes that are read at once.
    package static let chunkBytes = 1 << 20

    /// The system's number for it.
    package let descriptor: Int32
    /// The path, as errors name it.
    package let path: String

    /// Opens what is at a path, or makes it: `flags` are those of `open(2)`.
    package init(_ path: String, _ flags: Int32) throws(FileFailure) {
        descriptor = try Self.open(path, flags)
        self.path = path
    }

    /// Makes a file where there is nothing, not even a link.
    package init(newAt path: String) throws(FileFailure) {
        try self.init(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
    }

    /// Opens a folder.
    package init(folder path: String) throws(FileFailure) {
        descriptor = try Self.openFolder(path)
        self.path = path
    }

    deinit { close(descriptor) }

    /// The descriptor of a file, which the caller closes.
    package static func open(_ path: String, _ flags: Int32) throws(FileFailure) -> Int32 {
        let opened = Foundation.open(path, flags | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw FileFailure(flags & O_EXCL == 0 ? .open : .make, path) }
        return opened
    }

    /// The descriptor of a folder, which the caller closes.
    ///
    /// - Parameters:
    ///   - parent: the folder in which `name` is looked for, in the place of the whole path.
    ///   - isLink: whether a link may stand there.
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

    /// What the system says of it.
    package func status() throws(FileFailure) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileFailure(.examine, path) }
        return status
    }

    // MARK: Writing

    /// Writes all bytes: at a position, or where the last write ended.
    package func write(_ bytes: some ContiguousBytes, at position: off_t? = nil) throws(FileFailure) {
        let number = bytes.withUnsafeBytes { Self.write($0, to: descriptor, at: position) }
        guard number == 0 else { throw FileFailure(.write, path, number) }
    }

    /// Cuts the file off, or makes it longer by zeros.
    package func truncate(to length: off_t) throws(FileFailure) {
        guard ftruncate(descriptor, length) == 0 else { throw FileFailure(.write, path) }
    }

    /// Writes all bytes to a descriptor.
    ///
    /// - Returns: 0, or the system's number for the reason why it could not.
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

    /// Fills the buffer from a position, and gives how many bytes there were: fewer at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at position: off_t) throws(FileFailure) -> Int {
        let count = Self.read(descriptor, into: buffer, at: position)
        guard count >= 0 else { throw FileFailure(.read, path) }
        return count
    }

    /// Fills the buffer from a position of a descriptor's file, and gives how many bytes there were; -1 for an error, of which
    /// `errno` tells.
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

    /// All bytes of the file, or so many from its beginning.
    package func contents(limit: Int = .max) throws -> Data {
        var data = Data()
        try forEachChunk(in: 0..<off_t(limit)) { bytes, _ in
            data.append(contentsOf: bytes)
            return true
        }
        return data
    }

    /// Hands bytes and their position to `body`, a chunk at a time and in their order, until it returns false or they end.
    ///
    /// - Parameters:
    ///   - range: which bytes; a file that is shorter ends it.
    ///   - skipsHoles: whether what the file system knows to be zeros only is left out.
    ///   - limit: the most bytes of a chunk.
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
                    // The end; or somebody has cut it off meanwhile.
                    guard count > 0 else { return }
                    guard try body(UnsafeRawBufferPointer(rebasing: part[..<count]), position) else { return }
                    position += off_t(count)
                }
            }
        }
    }

    /// The next bytes that may be others than 0, from a position on; nil where there are none before the end.
    private func data(from position: off_t) throws(FileFailure) -> Range<off_t>? {
        // glibc gives their names to C only.
        #if canImport(Darwin)
        let (seekHole, seekData): (Int32, Int32) = (3, 4)
        #else
        let (seekData, seekHole): (Int32, Int32) = (3, 4)
        #endif
        let start = lseek(descriptor, position, seekData)
        if start < 0 {
            if errno == ENXIO { return nil }
            guard errno == EINVAL || errno == ENOTSUP else { throw FileFailure(.read, path) }
            // A file system that knows of no holes.
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
        // fsync on Apple platforms does not reach past the drive's own cache.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw FileFailure(.synchronize, path) }
    }

    /// Of a folder: waits until it is on the disk which files are in it.
    package func synchronizeNames() throws(FileFailure) {
        do {
            try synchronize()
        } catch {
            // Some file systems cannot sync a folder and say so with EINVAL: there is nothing more to do then.
            guard error.number == EINVAL else { throw FileFailure(.synchronizeFolder, path, error.number) }
        }
    }
}
