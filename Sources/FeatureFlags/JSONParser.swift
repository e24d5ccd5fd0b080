/// A parser for JSON (RFC 8259) that keeps positions.
///
/// Foundation's parser drops the positions, which errors, the linter and the editor of flag files need. It accepts nothing beyond the standard: no
/// comments, no trailing commas, no NaN. Its stack is on the heap, so that a file of a million brackets is an error and not a stack overflow.
package struct JSONParser {
    package let source: SourceText
    package let bytes: [UInt8]
    package var index = 0
    package var warnings: FlagWarningList
    private var containers: [JSONContainer] = []
    private var values = 0
    private var isWholeDocument = true

    private init(_ source: SourceText, _ warnings: FlagWarningList) {
        self.source = source
        self.bytes = source.bytes
        self.warnings = warnings
    }

    /// The file's one value. Duplicate keys, lone surrogates and rounded integers are added to the warnings.
    package static func parse(_ source: SourceText, warnings: inout FlagWarningList) throws(FlagError) -> JSONNode {
        var parser = JSONParser(source, warnings)
        defer { WorkMeter.current?.add(parser.values + parser.index) }
        let node = try parser.parseDocument()
        warnings = parser.warnings
        return node
    }

    /// The value that begins at a byte, whatever follows it, and how many bytes were read; nil where it is not whole.
    /// For damaged files.
    package static func value(at start: Int, in source: SourceText) -> (node: JSONNode?, readBytes: Int) {
        var parser = JSONParser(source, FlagWarningList())
        parser.index = start
        parser.isWholeDocument = false
        do throws(FlagError) {
            return (try parser.parseDocument(), parser.index - start)
        } catch {
            return (nil, parser.index - start)
        }
    }

    package func error(_ message: String, at offset: Int) -> FlagError {
        FlagError(.parseError, message, at: source.location(at: offset))
    }

    private mutating func parseDocument() throws(FlagError) -> JSONNode {
        while true {
            guard var node = try beginValue() else { continue }
            // The value may be the last one in its container, that container the last one in its own, and so on.
            while true {
                if containers.isEmpty {
                    if isWholeDocument { try requireEnd() }
                    return node
                }
                guard let closed = try append(node) else { break }
                node = closed
            }
        }
    }

    /// A whole value, or nil where an array or object was opened and its first value comes next.
    private mutating func beginValue() throws(FlagError) -> JSONNode? {
        guard let byte = nextByte() else { throw endOfFile("a value") }
        let start = index
        values += 1
        guard values <= FlagLimits.jsonValues else {
            throw error("the file has more than \(FlagLimits.jsonValues) values", at: start)
        }
        switch byte {
        case UInt8(ascii: "{"): return try open(.object, start: start)
        case UInt8(ascii: "["): return try open(.array, start: start)
        case UInt8(ascii: "\""):
            let text = try parseString()
            return JSONNode(value: .string(text), range: start..<index)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let number = try parseNumber()
            return JSONNode(value: number, range: start..<index)
        default:
            for (word, value) in Self.words where bytes[start...].starts(with: word.utf8) {
                index += word.utf8.count
                return JSONNode(value: value, range: start..<index)
            }
            throw unexpected(byte, expected: "a value")
        }
    }

    private static let words: [(String, JSONNode.Value)] = [
        ("true", .bool(true)), ("false", .bool(false)), ("null", .null),
    ]

    private mutating func open(_ kind: JSONContainer.Kind, start: Int) throws(FlagError) -> JSONNode? {
        guard containers.count < FlagLimits.jsonDepth else {
            throw error("arrays and objects stand more than \(FlagLimits.jsonDepth) deep here", at: start)
        }
        index += 1
        containers.append(JSONContainer(kind, start: start))
        let end = kind == .array ? UInt8(ascii: "]") : UInt8(ascii: "}")
        if nextByte() == end {
            index += 1
            return containers.removeLast().closed(end: index)
        }
        if kind == .object { containers[containers.count - 1].pendingKey = try parseKey() }
        return nil
    }

    /// Adds a value to the innermost container. Returns that container if it ends here.
    private mutating func append(_ node: JSONNode) throws(FlagError) -> JSONNode? {
        let last = containers.count - 1
        if let duplicate = containers[last].append(node) {
            warnings.add(
                "\(quoted(duplicate.key)) occurs twice in one object; the last one counts",
                source,
                at: duplicate.range.lowerBound
            )
        }
        let kind = containers[last].kind
        let end = kind == .array ? UInt8(ascii: "]") : UInt8(ascii: "}")
        let expected = kind == .array ? "\",\" or \"]\"" : "\",\" or \"}\""
        guard let byte = nextByte() else { throw endOfFile(expected) }
        if byte == end {
            index += 1
            return containers.removeLast().closed(end: index)
        }
        guard byte == UInt8(ascii: ",") else { throw unexpected(byte, expected: expected) }
        let comma = index
        index += 1
        if nextByte() == end { throw error("a comma before the closing bracket; remove it", at: comma) }
        if kind == .object { containers[last].pendingKey = try parseKey() }
        return nil
    }

    private mutating func parseKey() throws(FlagError) -> (key: String, range: Range<Int>) {
        guard let byte = nextByte() else { throw endOfFile("a name in quotes") }
        guard byte == UInt8(ascii: "\"") else { throw unexpected(byte, expected: "a name in quotes") }
        let start = index
        let key = try parseString()
        let range = start..<index
        guard let separator = nextByte() else { throw endOfFile("\":\"") }
        guard separator == UInt8(ascii: ":") else { throw unexpected(separator, expected: "\":\"") }
        index += 1
        return (key, range)
    }

    private mutating func requireEnd() throws(FlagError) {
        guard nextByte() == nil else {
            throw error("unexpected text after the JSON value; remove it", at: index)
        }
    }

    /// The next byte that is not white space, or nil at the end. `index` is left on it.
    private mutating func nextByte() -> UInt8? {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            default: return bytes[index]
            }
        }
        return nil
    }

    private func unexpected(_ byte: UInt8, expected: String) -> FlagError {
        if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "#") {
            return error("\(expected) is expected here; JSON has no comments", at: index)
        }
        return error("\(expected) is expected here", at: index)
    }

    private func endOfFile(_ expected: String) -> FlagError {
        guard let container = containers.last else {
            return error(
                "the file is empty; a \(source.kind.name) holds at least \(source.kind.least)",
                at: bytes.count
            )
        }
        let opened = source.location(at: container.start)
        let kind = container.kind == .array ? "array" : "object"
        return error(
            "the file ends where \(expected) is expected: the \(kind) that begins at line \(opened.line ?? 0), "
                + "column \(opened.column ?? 0) is not closed",
            at: bytes.count
        )
    }
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

/// An array or object whose end the parser has not met yet.
struct JSONContainer {
    enum Kind {
        case array
        case object
    }

    let kind: Kind
    let start: Int
    private var elements: [JSONNode] = []
    private var members: [JSONMember] = []
    /// Where each key stands in `members`; kept only once a search by walking would be slow.
    private var indexByKey: [String: Int] = [:]
    /// The key whose value comes next.
    var pendingKey: (key: String, range: Range<Int>)?

    private static let walkedMembers = 8

    init(_ kind: Kind, start: Int) {
        self.kind = kind
        self.start = start
    }

    /// Adds an element, or the value of the pending key. Returns the key's place if the object had that key already:
    /// the new value has then replaced the old one.
    mutating func append(_ node: JSONNode) -> (key: String, range: Range<Int>)? {
        guard let pending = pendingKey else {
            elements.append(node)
            return nil
        }
        pendingKey = nil
        let member = JSONMember(key: pending.key, keyRange: pending.range, value: node)
        if let index = index(of: pending.key) {
            members[index] = member
            return pending
        }
        if members.count >= Self.walkedMembers {
            if indexByKey.isEmpty {
                for (index, member) in members.enumerated() { indexByKey[member.key] = index }
            }
            indexByKey[pending.key] = members.count
        }
        members.append(member)
        return nil
    }

    func closed(end: Int) -> JSONNode {
        switch kind {
        case .array: JSONNode(value: .array(elements), range: start..<end)
        case .object: JSONNode(value: .object(members), range: start..<end)
        }
    }

    private func index(of key: String) -> Int? {
        indexByKey.isEmpty ? members.firstIndex { $0.key == key } : indexByKey[key]
    }
}

extension JSONParser {
    /// Parses the string whose opening quote `index` is on; leaves `index` after its closing quote.
    mutating func parseString() throws(FlagError) -> String {
        let start = index
        index += 1
        let contentStart = index
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                defer { index += 1 }
                return String(decoding: bytes[contentStart..<index], as: UTF8.self)
            case UInt8(ascii: "\\"):
                return try parseEscapedString(from: contentStart, start: start)
            case 0..<0x20:
                throw rawControlCharacter()
            default:
                index += 1
            }
        }
        throw error("the string that begins here is not closed", at: start)
    }

    /// The slower way, for a string with escapes; `index` is on the first backslash.
    private mutating func parseEscapedString(from contentStart: Int, start: Int) throws(FlagError) -> String {
        var content = Array(bytes[contentStart..<index])
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                return String(decoding: content, as: UTF8.self)
            case UInt8(ascii: "\\"):
                content.append(contentsOf: String(try parseEscape()).utf8)
            case 0..<0x20:
                throw rawControlCharacter()
            default:
                content.append(byte)
                index += 1
            }
        }
        throw error("the string that begins here is not closed", at: start)
    }

    private mutating func parseEscape() throws(FlagError) -> Unicode.Scalar {
        let start = index
        guard index + 1 < bytes.count else { throw error("the file ends inside an escape", at: start) }
        let letter = bytes[index + 1]
        index += 2
        switch letter {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try parseUnicodeEscape(start: start)
        default:
            throw error("a backslash must be followed by one of \" \\ / b f n r t u", at: start)
        }
    }

    /// A code unit, or a pair of surrogates. A surrogate that stands alone names no character: it becomes U+FFFD, as
    /// in flagd, and a warning.
    private mutating func parseUnicodeEscape(start: Int) throws(FlagError) -> Unicode.Scalar {
        let first = try parseHexDigits(start: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        if first < 0xDC00, bytes[index...].starts(with: #"\u"#.utf8) {
            let afterFirst = index
            index += 2
            let second = try parseHexDigits(start: afterFirst)
            let isPair = (0xDC00...0xDFFF).contains(second)
            if isPair, let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)) {
                return scalar
            }
            index = afterFirst
        }
        warnings.add("this is a lone surrogate; it is read as U+FFFD", source, at: start)
        return "\u{FFFD}"
    }

    private mutating func parseHexDigits(start: Int) throws(FlagError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard index < bytes.count, let digit = Character(Unicode.Scalar(bytes[index])).hexDigitValue else {
                throw error("\\u must be followed by four hexadecimal digits", at: start)
            }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }

    private func rawControlCharacter() -> FlagError {
        error("a control character or a line end inside a string; write it as an escape", at: index)
    }
}

extension JSONParser {
    /// The number whose first byte `index` is on: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
    mutating func parseNumber() throws(FlagError) -> JSONNode.Value {
        let start = index
        var isInteger = true
        skip(UInt8(ascii: "-"))
        let firstDigit = index
        try skipDigits(start: start)
        if bytes[firstDigit] == UInt8(ascii: "0"), index > firstDigit + 1 {
            throw error("a number must not begin with a zero", at: start)
        }
        if skip(UInt8(ascii: ".")) {
            isInteger = false
            try skipDigits(start: start)
        }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            isInteger = false
            if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
            try skipDigits(start: start)
        }
        // Not an error of the file: what the number stands in is refused, see `unusableNumber`.
        guard index - start <= FlagLimits.numberLengthBytes else { return .double(.nan) }
        return value(of: String(decoding: bytes[start..<index], as: UTF8.self), isInteger, start)
    }

    private mutating func value(
        of text: String,
        _ isInteger: Bool,
        _ start: Int
    ) -> JSONNode.Value {
        if isInteger {
            if let integer = Int64(text) { return .int(integer) }
            warnings.add("an integer does not fit into 64 bits; it is rounded", source, at: start)
        }
        return .double(Double(text) ?? .nan)
    }

    private mutating func skipDigits(start: Int) throws(FlagError) {
        let first = index
        while index < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) { index += 1 }
        guard index > first else { throw error("a number lacks a digit", at: start) }
    }

    @discardableResult
    private mutating func skip(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }
}
