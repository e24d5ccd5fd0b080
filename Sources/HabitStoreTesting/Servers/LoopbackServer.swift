import Foundation
import HabitStore
import Synchronization

/// A server of HTTP on this machine, which keeps what is posted to it and answers as it is told, for as long as this object.
package final class LoopbackServer: Sendable {
    /// What was posted.
    package struct Message: Sendable {
        package let path: String
        package let headers: [String: String]
        package let body: Data

        /// The header of a name, however that is written.
        package func header(_ name: String) -> String? { headers[name.lowercased()] }
    }

    /// Where it listens, on 127.0.0.1.
    package let port: UInt16
    private let listener: Int32
    private let received = Mutex<[Message]>([])
    private let answer: @Sendable (Message) -> Int?

    /// - Parameters:
    ///   - port: 0 for any that is free.
    ///   - answer: the status; nil for no answer at all.
    package init(port: UInt16 = 0, answer: @escaping @Sendable (Message) -> Int? = { _ in 200 }) throws {
        self.answer = answer
        let (listener, bound) = try Self.listen(port)
        (self.listener, self.port) = (listener, bound)
        Thread.detachNewThread { [listener, weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0, let self else { return }
                Thread.detachNewThread { self.serve(connection) }
            }
        }
    }

    deinit { stop() }

    /// Refuses whoever comes from now on.
    package func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// What was posted so far.
    package var messages: [Message] { received.withLock { $0 } }

    /// A port of this machine that nobody listens on.
    package static func closedPort() throws -> UInt16 {
        let (listener, port) = try listen(0)
        close(listener)
        return port
    }

    private static func listen(_ port: UInt16) throws -> (Int32, UInt16) {
        #if canImport(Darwin)
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        #endif
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, size) == 0 && Foundation.listen(descriptor, 16) == 0
                    && getsockname(descriptor, pointer, &size) == 0
            }
        }
        guard isBound else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw HabitStoreError(.inputOutput, "no port can be listened on: \(reason)")
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        guard let message = Self.read(connection) else { return }
        received.withLock { $0.append(message) }
        guard let status = answer(message) else {
            // Until the other side has had enough.
            var byte: UInt8 = 0
            _ = recv(connection, &byte, 1, 0)
            return
        }
        let location = (300..<400).contains(status) ? "Location: /elsewhere\r\n" : ""
        let text = "HTTP/1.1 \(status) As asked\r\n\(location)Content-Length: 2\r\nConnection: close\r\n\r\nok"
        #if canImport(Darwin)
        let flags: Int32 = 0
        #else
        let flags = Int32(MSG_NOSIGNAL)
        #endif
        _ = Array(text.utf8).withUnsafeBytes { send(connection, $0.baseAddress, $0.count, flags) }
    }

    private static func read(_ connection: Int32) -> Message? {
        var bytes = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let end = bytes.firstRange(of: Data("\r\n\r\n".utf8)) {
                let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
                var headers: [String: String] = [:]
                for line in lines.dropFirst() {
                    guard let colon = line.firstIndex(of: ":") else { continue }
                    headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
                        in: .whitespaces
                    )
                }
                let length = headers["content-length"].flatMap { Int($0) } ?? 0
                if bytes.count - end.upperBound >= length {
                    let path = lines[0].split(separator: " ").dropFirst().first.map(String.init) ?? ""
                    return Message(path: path, headers: headers, body: Data(bytes[end.upperBound...].prefix(length)))
                }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes.append(contentsOf: buffer[..<count])
        }
    }
}
