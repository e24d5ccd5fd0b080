/// Splits one direction of a connection, once its session has begun, into the protocol's messages:
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html>.
struct PostgresMessages {
    /// A message as sent: a type byte, the length of the rest, and the rest.
    struct Message {
        let bytes: [UInt8]

        private var type: UInt8? { bytes.first }

        /// The statement that a Bind message names; nil for other messages.
        var boundStatement: String? {
            guard type == UInt8(ascii: "B") else { return nil }
            // After the type and the length: the portal's name, then the statement's.
            return twoTexts?.1
        }

        /// The name and text of the statement that a Parse message prepares; nil for other messages.
        var preparedStatement: (name: String, text: String)? { type == UInt8(ascii: "P") ? twoTexts : nil }

        /// The first two texts of a message, each terminated by a zero byte.
        private var twoTexts: (String, String)? {
            let texts = bytes.dropFirst(5).split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
            guard texts.count > 1 else { return nil }
            return (String(decoding: texts[0], as: UTF8.self), String(decoding: texts[1], as: UTF8.self))
        }

        /// Whether the client then waits for all answers.
        var isSync: Bool { type == UInt8(ascii: "S") }
    }

    private var gathered: [UInt8] = []

    /// Adds bytes that have arrived.
    mutating func take(_ bytes: [UInt8]) { gathered.append(contentsOf: bytes) }

    /// Removes and returns the complete messages.
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
