/// Why the server does not start, in one line, and the exit code from `sysexits.h`, as in `habitstore`.
struct ServeFailure: Error {
    /// Wrong arguments: 64. An unusable file or address: 74.
    let status: Int32
    let message: String

    static func usage(_ message: String) -> ServeFailure { ServeFailure(status: 64, message: message) }

    static func inputOutput(_ message: String) -> ServeFailure { ServeFailure(status: 74, message: message) }
}
