import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport

/// Locates values in an XML property list, so that one of them can be replaced while every other byte stays: comments, the order of keys,
/// the form of numbers and dates.
///
/// Foundation decides whether the file is a valid property list. This scanner only locates the value of a key in the outermost dictionary,
/// and refuses what it does not understand.
struct XMLPreferences {
    private enum Token {
        case open(String)
        case close(String)
        case empty(String)
        case text(String)
    }

    private let bytes: [UInt8]
    private let path: String
    private var position: Int

    init(_ bytes: [UInt8], path: String) throws {
        self.bytes = bytes
        self.path = path
        position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw Self.refusal("its text is not in UTF-8; convert it first", path)
        }
    }

    /// Refuses nesting so deep that parsing could exhaust the stack.
    static func requireShallow(_ bytes: [UInt8], path: String) throws {
        guard !bytes.contains(0) else { throw refusal("its text is not in UTF-8; convert it first", path) }
        // The old text format has brackets instead of elements.
        let isXML = bytes.first { $0 > 0x20 && $0 < 0x80 } == UInt8(ascii: "<")
        var depth = 0
        var previous: UInt8 = 0
        for byte in bytes {
            switch (previous, byte) {
            case (UInt8(ascii: "<"), UInt8(ascii: "/")) where isXML, (UInt8(ascii: "/"), UInt8(ascii: ">")) where isXML:
                depth -= 1
            case (UInt8(ascii: "<"), _) where isXML && (0x61...0x7A).contains(byte | 0x20): depth += 1
            case (_, UInt8(ascii: "{")) where !isXML, (_, UInt8(ascii: "(")) where !isXML: depth += 1
            case (_, UInt8(ascii: "}")) where !isXML, (_, UInt8(ascii: ")")) where !isXML: depth -= 1
            default: break
            }
            guard depth <= 2 * BinaryPreferences.maximumDepth else { throw refusal("it is nested too deep", path) }
            previous = byte
        }
    }

    /// The file's bytes with an empty array as the value of a key in the outermost dictionary.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` unless the key occurs exactly once.
    func emptying(_ key: String) throws -> [UInt8] {
        let places = try values(of: key)
        guard let place = places.first, places.count == 1 else {
            throw Self.refusal("its outermost dictionary has the key \(places.count) times", path)
        }
        return bytes[..<place.lowerBound] + Array("<array/>".utf8) + bytes[place.upperBound...]
    }

    /// The ranges of the values that follow a key in the outermost dictionary.
    private func values(of wanted: String) throws -> [Range<Int>] {
        var scanner = self
        var depth = 0
        var dictionaryDepth: Int?
        var key: String?
        var current: String?
        var start: Int?
        var found: [Range<Int>] = []
        while let (token, range) = try scanner.next() {
            let isMember = dictionaryDepth == depth
            switch token {
            case .text(let text): if current != nil { current? += text }
            case .empty(let name):
                if isMember, name == "key" {
                    key = ""
                } else if isMember {
                    if key == wanted { found.append(range) }
                    key = nil
                }
            case .open(let name):
                if isMember {
                    if name == "key" { current = "" } else { start = range.lowerBound }
                } else if name == "dict", dictionaryDepth == nil {
                    dictionaryDepth = depth + 1
                } else if name != "plist", dictionaryDepth == nil {
                    throw Self.refusal("its outermost value is not a dictionary", path)
                }
                depth += 1
                guard depth <= BinaryPreferences.maximumDepth else { throw Self.refusal("it is nested too deep", path) }
            case .close:
                depth -= 1
                guard depth >= 0 else { throw Self.refusal("an element ends that did not begin", path) }
                guard dictionaryDepth == depth else { continue }
                if let text = current {
                    (key, current) = (text, nil)
                } else {
                    if let start, key == wanted { found.append(start..<range.upperBound) }
                    key = nil
                }
            }
        }
        guard depth == 0 else { throw Self.refusal("it ends within an element", path) }
        return found
    }

    // MARK: Tokens

    /// The next relevant token and its range; nil at the end.
    private mutating func next() throws -> (Token, Range<Int>)? {
        while position < bytes.count {
            let start = position
            guard bytes[start] == UInt8(ascii: "<") else {
                let end = bytes[start...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
                position = end
                return (.text(try decoded(start..<end)), start..<end)
            }
            if try skip("<!--", to: "-->") || skip("<?", to: "?>") { continue }
            if begins("<![CDATA[") {
                try skipOver("<![CDATA[", to: "]]>")
                return (.text(text((start + 9)..<(position - 3))), start..<position)
            }
            if begins("<!") {
                try skipDeclaration()
                continue
            }
            return (try element(), start..<position)
        }
        return nil
    }

    private mutating func element() throws -> Token {
        let start = position
        var quote: UInt8?
        while position < bytes.count {
            let byte = bytes[position]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                break
            }
            position += 1
        }
        guard position < bytes.count else { throw Self.refusal("it ends within an element", path) }
        position += 1
        let isEnd = bytes[start + 1] == UInt8(ascii: "/")
        let isEmpty = bytes[position - 2] == UInt8(ascii: "/")
        let name = bytes[(start + (isEnd ? 2 : 1))...].prefix { byte in
            byte > 0x20 && byte != UInt8(ascii: ">") && byte != UInt8(ascii: "/")
        }
        let text = String(decoding: name, as: UTF8.self)
        return isEnd ? .close(text) : isEmpty ? .empty(text) : .open(text)
    }

    /// Skips a `DOCTYPE`, which may contain declarations in brackets.
    private mutating func skipDeclaration() throws {
        var brackets = 0
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "[") { brackets += 1 }
            if byte == UInt8(ascii: "]") { brackets -= 1 }
            if byte == UInt8(ascii: ">"), brackets <= 0 { return }
        }
        throw Self.refusal("it ends within a declaration", path)
    }

    private mutating func skip(_ opening: String, to closing: String) throws -> Bool {
        guard begins(opening) else { return false }
        try skipOver(opening, to: closing)
        return true
    }

    private mutating func skipOver(_ opening: String, to closing: String) throws {
        position += opening.utf8.count
        while position < bytes.count {
            if begins(closing) {
                position += closing.utf8.count
                return
            }
            position += 1
        }
        throw Self.refusal("it ends within \(opening)", path)
    }

    private func begins(_ text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// A text with its references decoded; references that a document declares itself are unknown.
    private func decoded(_ range: Range<Int>) throws -> String {
        let text = text(range)
        guard text.contains("&") else { return text }
        var result = ""
        var rest = text[...]
        while let start = rest.firstIndex(of: "&") {
            result += rest[..<start]
            guard let end = rest[start...].firstIndex(of: ";") else {
                throw Self.refusal("a reference has no end", path)
            }
            result += try Self.character(String(rest[rest.index(after: start)..<end]), path)
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private static func character(_ name: String, _ path: String) throws -> String {
        switch name {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "quot": return "\""
        case "apos": return "'"
        default:
            let number =
                name.hasPrefix("#x") || name.hasPrefix("#X")
                ? UInt32(name.dropFirst(2), radix: 16) : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
            guard let number, let scalar = Unicode.Scalar(number) else {
                throw refusal("it holds a reference that is not known", path)
            }
            return String(scalar)
        }
    }

    private static func refusal(_ message: String, _ path: String) -> HabitStoreError {
        HabitStoreError(.invalidSource, "the property list cannot be changed: \(message)", at: .init(path: path))
    }
}
