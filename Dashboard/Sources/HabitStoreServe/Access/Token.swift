import Foundation

/// The word that whoever reads from other machines, or stops a fleet, has to know.
struct Token: Sendable {
    /// How long a token has to be: 96 bits, where it is written in hexadecimal digits.
    static let leastBytes = 24
    static let mostBytes = 1_024

    private let bytes: [UInt8]

    /// - Parameter place: where it stands, for the error.
    init(_ text: String, from place: String) throws(ServeFailure) {
        let word = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard (Self.leastBytes...Self.mostBytes).contains(word.utf8.count), !word.contains(where: \.isWhitespace) else {
            throw .usage(
                "the token of \(place) has to be one word of \(Self.leastBytes) to \(Self.mostBytes) bytes; `openssl rand -hex 32` makes one"
            )
        }
        bytes = Array(word.utf8)
    }

    /// Reads a file, which nobody but its owner may read.
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

    /// Whether somebody knows it. How long that takes says nothing about where the two begin to differ.
    func isKnown(by text: String) -> Bool {
        let given = Array(text.utf8)
        var difference = UInt(bitPattern: given.count ^ bytes.count)
        for (place, byte) in bytes.enumerated() {
            difference |= UInt(byte ^ (given.isEmpty ? 0 : given[place % given.count]))
        }
        return difference == 0
    }
}
