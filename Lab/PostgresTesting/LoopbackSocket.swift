import Foundation
import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// System calls for sockets on the loopback address.
enum LoopbackSocket {
    #if canImport(Glibc)
    private static let stream = Int32(SOCK_STREAM.rawValue)
    #else
    private static let stream = SOCK_STREAM
    #endif
    #if canImport(Darwin)
    private static let sending: Int32 = 0
    #else
    /// Sending to a closed connection returns an error instead of raising a signal.
    private static let sending = Int32(MSG_NOSIGNAL)
    #endif

    /// A listening socket and its port.
    static func listening() throws -> (socket: Int32, port: Int) {
        let descriptor = made()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var found = address(0)
        let isBound = withAddress(&found) { pointer in
            bind(descriptor, pointer, length) == 0 && listen(descriptor, 64) == 0
                && getsockname(descriptor, pointer, &length) == 0
        }
        guard descriptor >= 0, isBound else {
            throw HabitStoreError(.inputOutput, "cannot get a port of the loopback address (error \(errno))")
        }
        return (descriptor, Int(UInt16(bigEndian: found.sin_port)))
    }

    /// The next connection; nil if there will be none.
    static func accepted(by listener: Int32) -> Int32? {
        while true {
            let descriptor = accept(listener, nil, nil)
            if descriptor >= 0 {
                prepare(descriptor)
                return descriptor
            }
            guard errno == EINTR || errno == ECONNABORTED else { return nil }
        }
    }

    /// A connection to a port; nil if no process listens there.
    static func connected(to port: Int) -> Int32? {
        let descriptor = made()
        var target = address(UInt16(port))
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard withAddress(&target, { connect(descriptor, $0, length) }) == 0 else {
            close(descriptor)
            return nil
        }
        prepare(descriptor)
        return descriptor
    }

    /// Whether there is something to read, or the end of the connection.
    static func isReadable(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        var asked = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&asked, 1, milliseconds) > 0
    }

    /// The bytes that have arrived; empty at the end of the connection.
    static func some(from descriptor: Int32) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            var got = -1
            repeat { got = recv(descriptor, buffer.baseAddress, buffer.count, 0) } while got < 0 && errno == EINTR
            count = max(0, got)
        }
    }

    /// Exactly `count` bytes; nil if the connection ends before.
    static func read(_ count: Int, from descriptor: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var got = 0
        while got < count {
            let more = bytes.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress?.advanced(by: got), count - got, 0)
            }
            if more < 0, errno == EINTR { continue }
            guard more > 0 else { return nil }
            got += more
        }
        return bytes
    }

    /// - Returns: whether all bytes were sent.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let more = bytes.withUnsafeBytes {
                send(descriptor, $0.baseAddress?.advanced(by: sent), bytes.count - sent, sending)
            }
            if more < 0, errno == EINTR { continue }
            guard more > 0 else { return false }
            sent += more
        }
        return true
    }

    /// Shuts down a connection in both directions.
    static func shut(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Signals that nothing more will be sent.
    static func endSending(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    static func close(_ descriptor: Int32) {
        #if canImport(Glibc)
        _ = Glibc.close(descriptor)
        #elseif canImport(Musl)
        _ = Musl.close(descriptor)
        #else
        _ = Darwin.close(descriptor)
        #endif
    }

    private static func made() -> Int32 { socket(AF_INET, stream, 0) }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func withAddress<R>(_ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> R) -> R
    {
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }

    private static func prepare(_ descriptor: Int32) {
        var yes: Int32 = 1
        let length = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, length)
        #if canImport(Darwin)
        setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, length)
        #endif
    }
}
