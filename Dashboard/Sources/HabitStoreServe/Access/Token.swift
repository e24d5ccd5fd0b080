import Foundation

/// The secret that is needed for reading from other machines and for stopping a fleet.
struct Token: Sendable {
    /// The minimum length: 96 bits in hexadecimal digits.
    static let leastBytes = 24
    static let mostBytes = 1_024

    private let bytes: [UInt8]

    /// - Parameter place: the source of the token, for errors.
    init(_ text: String, from place: String) throws(ServeFailure) {
        let word = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard (Self.leastBytes...Self.mostBytes).contains(word.utf8.count), !word.contains(where: \.isWhitespace) else {
            throw .usage(
                "the token of \(place) must be one word of \(Self.leastBytes) to \(Self.mostBytes) bytes; `openssl rand -hex 32` makes one"
            )
        }
        bytes = Array(word.utf8)
    }

    /// Reads a file that only its owner may read.
    init(file path: String) throws(ServeFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw .inputOutput("\(path): the token cannot be read: \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .inputOutput("\(path): the token's file is not a regular file")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw .usage("\(path): others can read the token; take that away with `chmod 600`")
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw .inputOutput("\(path): the token cannot be read")
        }
        try self.init(String(decoding: data.prefix(Self.mostBytes + 2), as: UTF8.self), from: path)
    }

    /// Whether a text is the token. Its duration does not reveal where the two begin to differ.
    func isKnown(by text: String) -> Bool {
        let given = Array(text.utf8)
        var difference = UInt(bitPattern: given.count ^ bytes.count)
        for (place, byte) in bytes.enumerated() {
            difference |= UInt(byte ^ (given.isEmpty ? 0 : given[place % given.count]))
        }
        return difference == 0
    }
}
