/// The address to listen on: `HOST:PORT`, with an IPv6 address in brackets.
struct ListenAddress: Equatable {
    let host: String
    let port: Int

    init(_ text: String) throws(ServeFailure) {
        let wrong = ServeFailure.usage("--listen is \"\(text)\"; write HOST:PORT, such as 127.0.0.1:8737 or [::1]:8737")
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { throw wrong }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            throw wrong
        }
        guard !host.isEmpty else { throw wrong }
        (self.host, self.port) = (host, port)
    }

    /// Whether only this machine can reach it.
    var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count == 4 && parts.allSatisfy { $0 != nil } && parts[0] == 127
    }

    /// The server's URL.
    func url(port: Int) -> String { "http://" + (host.contains(":") ? "[\(host)]" : host) + ":\(port)/" }
}
