import CLMDB
import DurableFiles
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Reads the file's bytes into its own memory: without a map there is no SIGBUS, whatever happens to the file.
final class LMDBPageSource {
    let path: String
    private let descriptor: Int32
    private var isOwner: Bool

    /// Opens the file. Only for files that this process does not have open.
    init(path: String) throws {
        self.path = path
        // Not blocking: the path may have become a pipe since it was examined.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        isOwner = descriptor >= 0
        guard isOwner else { throw LMDBError.error(errno, during: "opening the file", path: path) }
    }

    /// Reads through a descriptor that another object owns.
    init(path: String, borrowing descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
        isOwner = false
    }

    deinit { close() }

    func close() {
        guard isOwner else { return }
        isOwner = false
        closeDescriptor(descriptor)
    }

    /// The current length of the file.
    func length() throws -> UInt64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw LMDBError.error(.notAStore, "a folder or a device is not a store", path: path)
        }
        return UInt64(clamping: status.st_size)
    }

    /// Fills the buffer from an offset, and returns the number of bytes read.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard offset <= LMDBFileFormat.maximumFileBytes * 2 else { return 0 }
        let count = OpenFile.read(descriptor, into: buffer, at: off_t(offset))
        guard count >= 0 else { throw failure(errno) }
        return count
    }

    /// Reads up to `length` bytes; fewer at the end of the file.
    func bytes(at offset: UInt64, length: Int) throws -> [UInt8] {
        var count = 0
        var bytes = [UInt8](repeating: 0, count: length)
        try bytes.withUnsafeMutableBytes { count = try read(at: offset, into: $0) }
        bytes.removeLast(length - count)
        return bytes
    }

    private func failure(_ number: Int32) -> HabitStoreError {
        LMDBError.error(number, during: "reading the file", path: path)
    }
}

// Inside the class, `close` refers to the method.
private func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

extension LMDBEnvironmentCore {
    /// The bytes of the open file; the caller is inside.
    func pageSource() throws -> LMDBPageSource {
        var descriptor: mdb_filehandle_t = -1
        guard let environment, mdb_env_get_fd(environment, &descriptor) == 0 else {
            throw LMDBError.error(.closed, "the store was closed", path: path)
        }
        return LMDBPageSource(path: path, borrowing: descriptor)
    }
}
