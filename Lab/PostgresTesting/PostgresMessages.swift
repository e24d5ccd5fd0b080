/// Cuts what goes one way over a connection, once its session has begun, into the protocol's messages:
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html>.
struct PostgresMessages {
    /// One message, as it was sent: a byte that says what it is, the length of what follows, and that.
    struct Message {
        let bytes: [UInt8]

        private var type: UInt8? { bytes.first }

        /// The statement that a Bind message names; nil for other messages.
        var boundStatement: String? {
            guard type == UInt8(ascii: "B") else { return nil }
            // Behind type and length: the portal's name, and the statement's.
            return twoTexts?.1
        }

        /// The statement that a Parse message prepares, by its name and its text; nil for other messages.
        var preparedStatement: (name: String, text: String)? { type == UInt8(ascii: "P") ? twoTexts : nil }

        /// The texts that a message begins with, each with a zero behind it.
        private var twoTexts: (String, String)? {
            let texts = bytes.dropFirst(5).split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
            guard texts.count > 1 else { return nil }
            return (String(decoding: texts[0], as: UTF8.self), String(decoding: texts[1], as: UTF8.self))
        }

        /// Whether the client waits behind it for all answers.
        var isSync: Bool { type == UInt8(ascii: "S") }
    }

    private var gathered: [UInt8] = []

    /// Takes in what has arrived.
    mutating func take(_ bytes: [UInt8]) { gathered.append(contentsOf: bytes) }

    /// The messages that are complete.
    mutating func taken() -> [Message] {
        var messages: [Message] = []
        var start = 0
        while gathered.count >= start + 5 {
            let stated = gathered[(start + 1)..<(start + 5)].reduce(0) { $0 << 8 | Int($1) }
            let end = start + 1 + max(4, stated)
            guard end <= gathered.count else { break }
            messages.append(Message(bytes: Array(gathered[start..<end])))
            start = end
        }
        gathered.removeFirst(start)
        return messages
    }
}
