import JSONText

/// The bytes of a flag file, checked to be UTF-8, and the way from a byte's offset to its line and column.
package struct SourceText: Sendable {
    /// What kind of file it is, for messages: other files than those of flags are read by the same parsers.
    package struct Kind: Sendable, Hashable {
        /// The kind's name in messages.
        let name: String
        /// The smallest valid text.
        let least: String

        package init(_ name: String, least: String) { (self.name, self.least) = (name, least) }

        package static let flags = Kind("flag file", least: "an object with \"flags\"")
    }

    /// What kind of file it is.
    package let kind: Kind
    /// The file's name, for messages.
    package let name: String
    /// The file's bytes, without a byte order mark.
    package let bytes: [UInt8]
    /// Whether the file began with a byte order mark.
    package let hadByteOrderMark: Bool
    /// Line and column at every 1024th byte. Without them a file of one long line with many errors would be
    /// walked from its start for each of them.
    private let checkpoints: [Checkpoint]

    private struct Checkpoint {
        var line = 1
        var column = 1
        /// Whether the byte before was a CR, which makes one line end with an LF.
        var afterCarriageReturn = false

        mutating func advance(over byte: UInt8) {
            switch byte {
            case UInt8(ascii: "\n") where afterCarriageReturn:
                afterCarriageReturn = false
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                line += 1
                column = 1
                afterCarriageReturn = byte == UInt8(ascii: "\r")
            default:
                afterCarriageReturn = false
                // A continuation byte belongs to the scalar that was counted with its first byte.
                if byte & 0xC0 != 0x80 { column += 1 }
            }
        }
    }

    private static let checkpointSpacing = 1024

    package init(bytes: [UInt8], name: String, kind: Kind = .flags) throws(FlagError) {
        self.kind = kind
        try Self.refuseOtherEncodings(bytes, name)
        hadByteOrderMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
        self.bytes = hadByteOrderMark ? Array(bytes.dropFirst(3)) : bytes
        self.name = name

        var checkpoints: [Checkpoint] = []
        checkpoints.reserveCapacity(bytes.count / Self.checkpointSpacing + 1)
        var current = Checkpoint()
        for (offset, byte) in self.bytes.enumerated() {
            if offset % Self.checkpointSpacing == 0 { checkpoints.append(current) }
            current.advance(over: byte)
        }
        if checkpoints.isEmpty { checkpoints.append(current) }
        self.checkpoints = checkpoints

        if let offset = UTF8Validation.firstInvalidOffset(in: self.bytes) {
            throw FlagError(.parseError, "the file is not valid UTF-8 here; save it as UTF-8", at: location(at: offset))
        }
    }

    /// The place of the byte at `offset`; an offset past the end is the end.
    package func location(at offset: Int) -> FlagError.Location {
        let target = min(max(offset, 0), bytes.count)
        let index = min(target / Self.checkpointSpacing, checkpoints.count - 1)
        var current = checkpoints[index]
        for byte in bytes[(index * Self.checkpointSpacing)..<target] { current.advance(over: byte) }
        return FlagError.Location(file: name, line: current.line, column: current.column)
    }

    /// The offset of the character at a line and a column; past the end of the text, the end.
    package func offset(line: Int, column: Int) -> Int {
        var low = 0
        var high = checkpoints.count
        while low + 1 < high {
            let middle = (low + high) / 2
            let checkpoint = checkpoints[middle]
            if (checkpoint.line, checkpoint.column) <= (line, column) { low = middle } else { high = middle }
        }
        var current = checkpoints[low]
        var offset = low * Self.checkpointSpacing
        // A checkpoint may lie inside a character, after the byte that counted it.
        while offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
        while offset < bytes.count, (current.line, current.column) < (line, column) {
            current.advance(over: bytes[offset])
            offset += 1
            while offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
        }
        return offset
    }

    /// A text that may be damaged: each byte that is not UTF-8 becomes a control character, which no string may contain, so that its string is
    /// not taken as intact.
    package init?(damaged bytes: [UInt8], name: String) {
        var bytes = bytes
        var start = 0
        while let offset = UTF8Validation.firstInvalidOffset(in: bytes, from: start) {
            bytes[offset] = 0x01
            start = offset
        }
        do throws(FlagError) { try self.init(bytes: bytes, name: name) } catch { return nil }
    }

    private static func refuseOtherEncodings(_ bytes: [UInt8], _ name: String) throws(FlagError) {
        guard let encoding = otherEncoding(bytes) else { return }
        throw FlagError(
            .parseError,
            "the file is \(encoding); save it as UTF-8",
            at: FlagError.Location(file: name, line: 1, column: 1)
        )
    }

    /// The encoding of a file that begins with a byte order mark other than UTF-8's, or with an ASCII character in more than one byte. UTF-32's
    /// mark begins like UTF-16's.
    private static func otherEncoding(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0xFF, 0xFE, 0, 0]) || bytes.starts(with: [0, 0, 0xFE, 0xFF]) { return "UTF-32" }
        if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) { return "UTF-16" }
        guard bytes.count >= 4 else { return nil }
        let characters = bytes.prefix(8).enumerated()
        for (unit, place, name) in [(4, 0, "UTF-32"), (4, 3, "UTF-32"), (2, 0, "UTF-16"), (2, 1, "UTF-16")]
        where characters.allSatisfy({ ($0.offset % unit == place) == ($0.element != 0) }) {
            return name
        }
        return nil
    }
}

extension SourceText {
    private static let rules = {
        var rules = JSONParser.Rules()
        rules.depth = FlagLimits.jsonDepth
        rules.values = FlagLimits.jsonValues
        rules.numberBytes = FlagLimits.numberLengthBytes
        rules.mostFindings = FlagLimits.warnings
        return rules
    }()

    /// The JSON document's value. Duplicate keys, lone surrogates and rounded integers are added to the warnings.
    package func json(warnings: inout FlagWarningList) throws(FlagError) -> JSONNode {
        var parser = JSONParser(bytes, Self.rules)
        defer { WorkMeter.current?.add(parser.work) }
        let node: JSONNode
        do throws(JSONFailure) { node = try parser.parse() } catch { throw flagError(error) }
        for finding in parser.findings {
            let message =
                switch finding.kind {
                case .repeatedMember:
                    "\(quoted(finding.name ?? "")) occurs twice in one object; the last one counts"
                case .halfOfCharacter: "this is a lone surrogate; it is read as U+FFFD"
                case .roundedInteger: "an integer does not fit into 64 bits; it is rounded"
                }
            warnings.add(message, self, at: finding.offset)
        }
        return node
    }

    /// The value that begins at a byte, whatever follows it, and how many bytes were read; nil where it is not whole.
    /// For damaged files.
    package func json(at start: Int) -> (node: JSONNode?, readBytes: Int) {
        JSONParser.value(at: start, in: bytes, Self.rules)
    }

    private func flagError(_ failure: JSONFailure) -> FlagError {
        var message = failure.message
        if failure.cause == .nothing { message = "the file is empty; a \(kind.name) holds at least \(kind.least)" }
        if let open = failure.open {
            let place = location(at: open.start)
            message +=
                ": the \(open.kind) that begins at line \(place.line ?? 0), column \(place.column ?? 0) is not closed"
        }
        return FlagError(.parseError, message, at: location(at: failure.offset))
    }
}

extension JSONNode {
    /// The same value without its places. The depth of a file is limited, and so is the recursion.
    package var flagValue: FlagValue {
        switch value {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .int(value)
        case .double(let value): .double(value)
        case .string(let value): .string(value)
        case .array(let elements): .list(elements.map(\.flagValue))
        case .object(let members):
            .object(
                Dictionary(members.map { ($0.key, $0.value.flagValue) }, uniquingKeysWith: { _, last in last })
            )
        }
    }

    /// The first number in the value that cannot be used: one that is too large or too long, or YAML's `.inf` and
    /// `.nan`. It is not finite. The file can be read nevertheless, and what the number stands in is refused.
    package var unusableNumber: JSONNode? {
        switch value {
        case .double(let number): number.isFinite ? nil : self
        case .array(let elements): elements.lazy.compactMap(\.unusableNumber).first
        case .object(let members): members.lazy.compactMap(\.value.unusableNumber).first
        case .null, .bool, .int, .string: nil
        }
    }

    /// The message for such a number.
    package static let unusableNumberMessage =
        "a number must be finite, no larger than 64 bits of floating point hold, and at most "
        + "\(FlagLimits.numberLengthBytes) bytes long"
}

/// A name from a file, made fit for a message: in quotes, on one line, and cut off where it is long.
package func quoted(_ text: String) -> String {
    // Asking Unicode about each character takes longer than the evaluation that names a flag.
    let isPlain = text.utf8.count <= 64 && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
    if isPlain { return "\"\(text)\"" }
    var result = "\""
    for (count, scalar) in text.unicodeScalars.enumerated() {
        if count == 64 {
            result += "…"
            break
        }
        let category = scalar.properties.generalCategory
        let isHidden =
            category == .control || category == .format || category == .lineSeparator
            || category == .paragraphSeparator
        if isHidden || scalar == "\"" {
            result += scalar.escaped(asASCII: true)
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}
