import Foundation
import HabitStore

/// A new file that is written a piece at a time, for its owner only.
final class BufferedFile {
    private static let limit = 1 << 18

    private let path: String
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw HabitStoreError.system(errno, "no file can be made here", path) }
    }

    deinit { close(descriptor) }

    func write(_ text: String) throws {
        buffer += text.utf8
        if buffer.count >= Self.limit { try flush() }
    }

    /// Brings everything to the disk.
    func finish() throws {
        try flush()
        guard fsync(descriptor) == 0 else {
            throw HabitStoreError.system(errno, "the file cannot be brought to the disk", path)
        }
    }

    private func flush() throws {
        var position = 0
        while position < buffer.count {
            let count = buffer[position...].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                position += count
            } else if errno != EINTR {
                throw HabitStoreError.system(errno, "the file cannot be written", path)
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }
}
