/// A parser for JSON (RFC 8259) that keeps positions.
///
/// Foundation's parser drops the positions, which errors, the linter and the editor of flag files need, and all but one of several members with the
/// same name. It accepts nothing beyond the standard: no comments, no trailing commas, no NaN. Its stack is on the heap, so that a file of a million
/// brackets is an error and not a stack overflow.
package struct JSONParser {
    /// The rules for a document.
    package struct Rules: Sendable {
        /// How deep arrays and objects may stand in each other.
        package var depth = 256
        /// How many values there may be.
        package var values = Int.max
        /// How long a number may be; a longer one is read as NaN.
        package var numberBytes = Int.max
        /// Whether a number too large for 64 bits of floating point is an error.
        package var isFinite = false
        /// The findings that are errors. Of others, the first ``mostFindings`` are kept.
        package var refused: Set<Finding.Kind> = []
        /// How many findings are kept.
        package var mostFindings = 0

        package init() {}

        /// What a decoder would silently change is an error, except that whole numbers of more than 64 bits are rounded.
        package static var exact: Rules {
            var rules = Rules()
            rules.refused = [.repeatedMember, .halfOfCharacter]
            rules.isFinite = true
            return rules
        }
    }

    /// What JSON allows and a reader may have to know.
    package struct Finding: Sendable {
        package enum Kind: Sendable { case repeatedMember, halfOfCharacter, roundedInteger }

        package let kind: Kind
        /// The offset of its first byte.
        package let offset: Int
        /// The name of a repeated member.
        package var name: String?
    }

    private let bytes: [UInt8]
    private let rules: Rules
    private var index = 0
    private var containers: [JSONContainer] = []
    private var values = 0
    private var isWholeDocument = true
    /// Findings about a document that was accepted.
    package private(set) var findings: [Finding] = []

    /// - Parameter bytes: a document in UTF-8.
    package init(_ bytes: [UInt8], _ rules: Rules) { (self.bytes, self.rules) = (bytes, rules) }

    /// How much was done: one for each value and each byte.
    package var work: Int { values + index }

    /// The document's one value.
    package mutating func parse() throws(JSONFailure) -> JSONNode { try parseDocument() }

    /// The value that begins at a byte, whatever follows it, and how many bytes were read; nil if it is incomplete.
    /// For damaged files.
    package static func value(at start: Int, in bytes: [UInt8], _ rules: Rules) -> (node: JSONNode?, readBytes: Int) {
        var parser = JSONParser(bytes, rules)
        parser.index = start
        parser.isWholeDocument = false
        let node = try? parser.parseDocument()
        return (node, parser.index - start)
    }

    private func error(_ message: String, at offset: Int) -> JSONFailure { JSONFailure(message, offset: offset) }

    private mutating func note(_ kind: Finding.Kind, at offset: Int, name: String? = nil) throws(JSONFailure) {
        let finding = Finding(kind: kind, offset: offset, name: name)
        if rules.refused.contains(kind) { throw JSONFailure(finding) }
        if findings.count < rules.mostFindings { findings.append(finding) }
    }

    private mutating func parseDocument() throws(JSONFailure) -> JSONNode {
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
    private mutating func beginValue() throws(JSONFailure) -> JSONNode? {
        guard let byte = nextByte() else { throw endOfFile("a value") }
        let start = index
        values += 1
        guard values <= rules.values else {
            throw error("the file has more than \(rules.values) values", at: start)
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

    private mutating func open(_ kind: JSONFailure.Container, start: Int) throws(JSONFailure) -> JSONNode? {
        guard containers.count < rules.depth else {
            throw JSONFailure("arrays and objects stand more than \(rules.depth) deep here", offset: start, .depth)
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
    private mutating func append(_ node: JSONNode) throws(JSONFailure) -> JSONNode? {
        let last = containers.count - 1
        if let duplicate = containers[last].append(node) {
            try note(.repeatedMember, at: duplicate.range.lowerBound, name: duplicate.key)
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

    private mutating func parseKey() throws(JSONFailure) -> (key: String, range: Range<Int>) {
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

    private mutating func requireEnd() throws(JSONFailure) {
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

    private func unexpected(_ byte: UInt8, expected: String) -> JSONFailure {
        if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "#") {
            return error("\(expected) is expected here; JSON has no comments", at: index)
        }
        return error("\(expected) is expected here", at: index)
    }

    private func endOfFile(_ expected: String) -> JSONFailure {
        let message = "the file ends where \(expected) is expected"
        let open = containers.last.map { ($0.kind, $0.start) }
        return JSONFailure(message, offset: bytes.count, open == nil ? .nothing : .syntax, open: open)
    }
}

extension JSONParser {
    /// Parses the string whose opening quote `index` is on; leaves `index` after its closing quote.
    mutating func parseString() throws(JSONFailure) -> String {
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
    private mutating func parseEscapedString(from contentStart: Int, start: Int) throws(JSONFailure) -> String {
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

    private mutating func parseEscape() throws(JSONFailure) -> Unicode.Scalar {
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
    /// in flagd, and a finding.
    private mutating func parseUnicodeEscape(start: Int) throws(JSONFailure) -> Unicode.Scalar {
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
        try note(.halfOfCharacter, at: start)
        return "\u{FFFD}"
    }

    private mutating func parseHexDigits(start: Int) throws(JSONFailure) -> UInt32 {
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

    private func rawControlCharacter() -> JSONFailure {
        error("a control character or a line end inside a string; write it as an escape", at: index)
    }
}

extension JSONParser {
    /// The number whose first byte `index` is on: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
    mutating func parseNumber() throws(JSONFailure) -> JSONNode.Value {
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
        guard index - start <= rules.numberBytes else { return .double(.nan) }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        if isInteger {
            if let integer = Int64(text) { return .int(integer) }
            try note(.roundedInteger, at: start)
        }
        let number = Double(text) ?? .nan
        if rules.isFinite, !number.isFinite { throw error("a number is too large", at: start) }
        return .double(number)
    }

    private mutating func skipDigits(start: Int) throws(JSONFailure) {
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

/// Where and why a document was refused.
package struct JSONFailure: Error, CustomStringConvertible {
    package enum Cause: Sendable {
        /// It is not JSON.
        case syntax
        /// There is no value.
        case nothing
        /// It is JSON, but contains what the rules refuse.
        case refused
        /// It is nested deeper than the rules allow.
        case depth
    }

    package enum Container: String, Sendable { case array, object }

    package let message: String
    /// The offset of the byte at which reading stopped.
    package let offset: Int
    package let cause: Cause
    /// The innermost array or object that was not closed, and the offset of its bracket.
    package let open: (kind: Container, start: Int)?

    init(_ message: String, offset: Int, _ cause: Cause = .syntax, open: (Container, Int)? = nil) {
        (self.message, self.offset, self.cause, self.open) = (message, offset, cause, open)
    }

    fileprivate init(_ finding: JSONParser.Finding) {
        let message =
            switch finding.kind {
            case .repeatedMember: "the member \"\(finding.name ?? "")\" is there twice in one object"
            case .halfOfCharacter: "half of a character is missing"
            case .roundedInteger: "a number has more digits than can be kept: put it in quotes"
            }
        self.init(message, offset: finding.offset, .refused)
    }

    package var description: String { "\(message), at byte \(offset + 1)" }
}
