import Foundation
import Synchronization

/// Standard output.
package enum Output {
    private static let used = Atomic<Bool>(false)

    /// Whether anything was written to it.
    package static var isUsed: Bool { used.load(ordering: .acquiring) }

    /// Writes all of a text.
    ///
    /// - Throws: ``OutputClosed`` when the reader went away, and a ``CommandFailure`` when it cannot be written.
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

    /// - Throws: ``OutputClosed`` when its reader went away, as far as that can be told without writing: of a pipe, a socket or a
    ///   terminal.
    package static func requireReader() throws {
        var stream = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        guard poll(&stream, 1, 0) > 0, Int32(stream.revents) & Int32(POLLERR | POLLHUP) != 0 else { return }
        throw OutputClosed()
    }

    /// A stream that does not wait for its reader, because some other program has made it so, is waited for here.
    ///
    /// - Returns: the error number that ended it, or nil.
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
