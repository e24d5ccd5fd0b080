import Foundation
import HabitStoreFleet

/// One request of HTTP without TLS, over a connection of its own: straight to the host, past every proxy that the environment names,
/// since most such hooks are on this machine, and waiting for the answer costs nothing.
struct PlainExchange {
    private static let mostBytes = 65_536

    private let request: HookRequest
    /// Without the brackets that an address of IPv6 has in a URL.
    private let host: String
    private let deadline: ContinuousClock.Instant

    init(_ request: HookRequest) {
        self.request = request
        host = request.url.host()?.trimmingCharacters(in: ["[", "]"]) ?? ""
        deadline = .now + .seconds(request.timeoutSeconds)
    }

    /// - Returns: the status that was answered.
    func status() throws(HookFailure) -> Int {
        let connection = try connect()
        defer { close(connection) }
        try send(head() + request.body, to: connection)
        return try readStatus(connection)
    }

    private var late: HookFailure { HookFailure("gave no answer within \(request.timeoutSeconds.formatted()) seconds") }

    private static func failure(_ number: Int32) -> HookFailure {
        HookFailure("cannot be reached: \(String(cString: strerror(number)))")
    }

    // MARK: Connecting

    private func connect() throws(HookFailure) -> Int32 {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Darwin)
        hints.ai_socktype = SOCK_STREAM
        #else
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(request.url.port ?? 80)", &hints, &list) == 0, let first = list else {
            throw HookFailure("cannot be reached: its host is not known")
        }
        defer { freeaddrinfo(first) }
        var last = ECONNREFUSED
        for entry in sequence(first: first, next: { $0.pointee.ai_next }) {
            let (descriptor, number) = open(entry.pointee)
            if let descriptor { return descriptor }
            last = number
        }
        throw last == ETIMEDOUT ? late : Self.failure(last)
    }

    /// Connects to one of the host's addresses.
    private func open(_ address: addrinfo) -> (descriptor: Int32?, number: Int32) {
        let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
        guard descriptor >= 0 else { return (nil, errno) }
        // Nobody waits for longer than the request says, and no child keeps it open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        var number: Int32 = 0
        if Foundation.connect(descriptor, address.ai_addr, address.ai_addrlen) != 0 {
            number = errno
            if number == EINPROGRESS || number == EINTR {
                number = wait(descriptor, POLLOUT) ? 0 : ETIMEDOUT
                var size = socklen_t(MemoryLayout<Int32>.size)
                if number == 0 { getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &size) }
            }
        }
        guard number == 0 else {
            close(descriptor)
            return (nil, number)
        }
        return (descriptor, 0)
    }

    /// Waits until something can be read or written.
    ///
    /// - Returns: false when the time is over.
    private func wait(_ descriptor: Int32, _ events: Int32) -> Bool {
        while true {
            let left = (deadline - ContinuousClock.now) / .milliseconds(1)
            guard left > 0 else { return false }
            var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let count = poll(&entry, 1, Int32(min(left.rounded(.up), 60_000)))
            if count > 0 { return true }
            if count < 0, errno != EINTR { return true }
        }
    }

    // MARK: Talking

    private func head() -> Data {
        let url = request.url
        var target = url.path(percentEncoded: true)
        if !target.hasPrefix("/") { target = "/" + target }
        if let query = url.query(percentEncoded: true) { target += "?" + query }
        let name = host.contains(":") ? "[\(host)]" : host
        var text = "POST \(target) HTTP/1.1\r\nHost: \(name)\(url.port.map { ":\($0)" } ?? "")\r\n"
        for (name, value) in request.headers.sorted(by: { $0.key < $1.key }) { text += "\(name): \(value)\r\n" }
        return Data((text + "Content-Length: \(request.body.count)\r\nConnection: close\r\n\r\n").utf8)
    }

    private func send(_ bytes: Data, to connection: Int32) throws(HookFailure) {
        #if canImport(Darwin)
        var yes: Int32 = 1
        setsockopt(connection, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
        let flags: Int32 = 0
        #else
        let flags = Int32(MSG_NOSIGNAL)
        #endif
        let bytes = Array(bytes)
        var done = 0
        while done < bytes.count {
            guard wait(connection, POLLOUT) else { throw late }
            let count = bytes[done...].withUnsafeBytes { Foundation.send(connection, $0.baseAddress, $0.count, flags) }
            if count > 0 {
                done += count
            } else if ![EAGAIN, EWOULDBLOCK, EINTR].contains(errno) {
                throw Self.failure(errno)
            }
        }
    }

    /// Reads until the status is known that the request was answered with; the rest is nobody's concern.
    private func readStatus(_ connection: Int32) throws(HookFailure) -> Int {
        var known: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while known.count < Self.mostBytes {
            guard wait(connection, POLLIN) else { throw late }
            let count = recv(connection, &buffer, buffer.count, 0)
            if count < 0 {
                if [EAGAIN, EWOULDBLOCK, EINTR].contains(errno) { continue }
                throw Self.failure(errno)
            }
            guard count > 0 else { break }
            known += buffer[..<count]
            if let status = try Self.status(known) { return status }
        }
        throw HookFailure("gave no answer that is HTTP")
    }

    /// The status of the first answer that is not one in between, as `100 Continue` is; nil while it has not come as a whole.
    private static func status(_ bytes: [UInt8]) throws(HookFailure) -> Int? {
        var lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")[...]
        while lines.count > 1, let line = lines.first {
            let parts = line.split(separator: " ", maxSplits: 2)
            guard parts.count >= 2, parts[0].hasPrefix("HTTP/1."), parts[1].utf8.count == 3, let status = Int(parts[1])
            else {
                throw HookFailure("gave no answer that is HTTP")
            }
            if status >= 200 { return status }
            guard let end = lines.firstIndex(of: "") else { return nil }
            lines = lines[(end + 1)...]
        }
        return nil
    }
}
