import Foundation
import Synchronization

/// Standard output.
package enum Output {
    private static let used = Atomic<Bool>(false)

    /// Whether anything was written to it.
    package static var isUsed: Bool { used.load(ordering: .acquiring) }

    /// Writes a text completely.
    ///
    /// - Throws: ``OutputClosed`` if the reader went away, and a ``CommandFailure`` if it cannot be written.
    package static func write(_ text: String) throws {
        if !text.isEmpty { used.store(true, ordering: .releasing) }
        if let reason = writeAll(text, to: STDOUT_FILENO) {
            guard reason != EPIPE else { throw OutputClosed() }
            throw CommandFailure(
                status: .inputOutput,
                message: "the output cannot be written: \(String(cString: strerror(reason)))"
            )
        }
    }

    /// - Throws: ``OutputClosed`` if the reader of a pipe, socket or terminal went away; other outputs would have to be written to.
    package static func requireReader() throws {
        var stream = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        guard poll(&stream, 1, 0) > 0, Int32(stream.revents) & Int32(POLLERR | POLLHUP) != 0 else { return }
        throw OutputClosed()
    }

    /// Writes a text completely; waits even if another program has made the stream nonblocking.
    ///
    /// - Returns: the error number of a failure, or nil.
    package static func writeAll(_ text: String, to descriptor: Int32) -> Int32? {
        var text = text
        return text.withUTF8 { bytes in
            var position = 0
            while position < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[position...])
                let written = Foundation.write(descriptor, rest.baseAddress, rest.count)
                if written >= 0 {
                    position += written
                } else if errno == EAGAIN || errno == EWOULDBLOCK {
                    var stream = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&stream, 1, -1)
                } else if errno != EINTR {
                    return errno
                }
            }
            return nil
        }
    }
}
