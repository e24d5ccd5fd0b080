import Foundation
import HabitStore

/// Reads a file byte by byte, with a buffer.
final class ByteStream {
    private static let chunk = 1 << 18

    let path: String
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var position = 0
    /// The number of bytes consumed.
    private(set) var offset = 0

    init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw HabitStoreError.system(errno, "the file cannot be read", path) }
    }

    deinit { close(descriptor) }

    /// The next byte, without consuming it; nil at the end.
    @inline(__always)
    func peek() throws -> UInt8? {
        if position < buffer.count { return buffer[position] }
        return try fill() ? buffer[0] : nil
    }

    /// Consumes the next byte.
    @inline(__always)
    func take() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        position += 1
        offset += 1
        return byte
    }

    private func fill() throws -> Bool {
        var room = [UInt8](repeating: 0, count: Self.chunk)
        while true {
            let count = room.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw HabitStoreError.system(errno, "the file cannot be read", path)
            }
            room.removeLast(room.count - count)
            (buffer, position) = (room, 0)
            return count > 0
        }
    }
}
