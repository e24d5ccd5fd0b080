import Foundation
@_spi(Engines) import HabitStore
import JSONText

/// Reads the rows of a CSV file (RFC 4180) in pieces.
///
/// Lines end with LF or CRLF. A quoted field may contain anything, with quotes doubled. A byte order mark at the beginning is skipped.
/// Unlike in the RFC, rows may have different lengths; callers decide what that means.
package struct CSVReader {
    /// A field: its text, and whether it was quoted, which some formats use to tell null from an empty text.
    package struct Field: Equatable {
        package var text: String
        package var isQuoted = false

        package init(text: String, isQuoted: Bool = false) {
            self.text = text
            self.isQuoted = isQuoted
        }
    }

    /// The maximum size of a row in bytes.
    package static let maximumRowBytes = 64 << 20
    private static let chunk = 1 << 16

    private let path: String
    private let file: FileHandle?
    private var buffer: [UInt8]
    private var position = 0
    private var isAtEnd: Bool
    /// The line where the last row began, counted from 1.
    package private(set) var line = 0
    /// Whether the last row ended with a line break rather than with the file.
    package private(set) var isLineEnded = false
    private var nextLine = 1

    package init(path: String) throws {
        self.path = path
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw HabitStoreError.system(errno, "the file cannot be read", path) }
        file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        buffer = []
        isAtEnd = false
        passOverMark()
    }

    /// Reads bytes in memory.
    package init(_ bytes: [UInt8], path: String) {
        self.path = path
        file = nil
        buffer = bytes
        isAtEnd = true
        passOverMark()
    }

    /// The next row; nil at the end. An empty line is a row with one empty field.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` for an unclosed quote or invalid UTF-8.
    package mutating func next() throws -> [Field]? {
        guard try peek() != nil else { return nil }
        line = nextLine
        isLineEnded = false
        var row: [Field] = []
        var size = 0
        while true {
            let (field, isLast) = try field(&size)
            row.append(field)
            if isLast { return row }
        }
    }

    private mutating func field(_ size: inout Int) throws -> (Field, isLast: Bool) {
        var bytes: [UInt8] = []
        var isQuoted = false
        if try peek() == UInt8(ascii: "\"") {
            isQuoted = true
            position += 1
            try quoted(&bytes, &size)
        }
        while let byte = try peek() {
            position += 1
            switch byte {
            case UInt8(ascii: ","): return (try made(bytes, isQuoted), false)
            case UInt8(ascii: "\n"):
                nextLine += 1
                isLineEnded = true
                return (try made(bytes, isQuoted), true)
            case UInt8(ascii: "\r"):
                guard try peek() == UInt8(ascii: "\n") else { fallthrough }
            default:
                guard !isQuoted else { throw failure("a quoted field continues after its closing quote") }
                bytes.append(byte)
                try grow(&size)
            }
        }
        return (try made(bytes, isQuoted), true)
    }

    private mutating func quoted(_ bytes: inout [UInt8], _ size: inout Int) throws {
        while let byte = try peek() {
            position += 1
            if byte == UInt8(ascii: "\"") {
                guard try peek() == UInt8(ascii: "\"") else { return }
                position += 1
            } else if byte == UInt8(ascii: "\n") {
                nextLine += 1
            }
            bytes.append(byte)
            try grow(&size)
        }
        throw failure("a quoted field has no end")
    }

    private func grow(_ size: inout Int) throws {
        size += 1
        guard size <= Self.maximumRowBytes else { throw failure("a row is longer than \(Self.maximumRowBytes) bytes") }
    }

    private func made(_ bytes: [UInt8], _ isQuoted: Bool) throws -> Field {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("a field is not UTF-8") }
        return Field(text: text, isQuoted: isQuoted)
    }

    /// The next byte, without consuming it; nil at the end.
    @inline(__always)
    private mutating func peek() throws -> UInt8? {
        if position < buffer.count { return buffer[position] }
        guard !isAtEnd, let file else { return nil }
        do {
            buffer = Array(try file.read(upToCount: Self.chunk) ?? Data())
        } catch {
            throw HabitStoreError(.inputOutput, "the file cannot be read", at: .init(path: path), underlying: error)
        }
        position = 0
        isAtEnd = buffer.isEmpty
        return buffer.first
    }

    private mutating func passOverMark() {
        guard (try? peek()) == 0xEF, buffer.starts(with: [0xEF, 0xBB, 0xBF]) else { return }
        position = 3
    }

    private func failure(_ message: String) -> HabitStoreError {
        HabitStoreError(.invalidSource, "line \(line): \(message)", at: .init(path: path))
    }
}

/// Converts values to and from CSV fields. An empty field is null, and `""` is an empty text.
enum ValueText {
    /// The field for a value in a column, quoted if necessary.
    static func field(_ value: Value, _ column: InterchangeColumn) throws -> String {
        switch value {
        case .null: return ""
        case .bool(let flag): return flag ? "true" : "false"
        case .int(let number): return String(number)
        case .double(let number): return "\(number)"
        case .string(let text): return quoted(text)
        case .date(let date):
            return column.isExact ? "\(date.timeIntervalSinceReferenceDate)" : InstantText.text(date)
        case .uuid(let id): return id.uuidString
        case .data(let bytes): return quoted(bytes.base64EncodedString())
        case .strings(let texts): return quoted(try list(texts))
        case .links(let ids): return quoted(try list(ids.map(\.uuidString)))
        }
    }

    /// The value of a field; nil if it is invalid. Dates, which have two fields, are read elsewhere.
    static func value(_ field: CSVReader.Field, _ column: InterchangeColumn) -> Value? {
        let text = field.text
        if text.isEmpty, !field.isQuoted, column.isOptional { return .null }
        switch column.kind {
        case .bool:
            switch text {
            case "true": return .bool(true)
            case "false": return .bool(false)
            default: return ["true": .bool(true), "false": .bool(false)][text.lowercased()]
            }
        case .int: return Int64(text).map { .int($0) }
        case .double: return Double(text).map { .double($0) }
        case .string: return .string(text)
        case .date: return InstantText.parse(text).map { .date($0) }
        case .uuid: return UUID(uuidString: text).map { .uuid($0) }
        case .data: return Data(base64Encoded: text).map { .data($0) }
        case .strings: return list(text).map { .strings($0) }
        case .links:
            guard let texts = list(text) else { return nil }
            let ids = texts.compactMap { UUID(uuidString: $0) }
            return ids.count == texts.count ? .links(ids) : nil
        }
    }

    private static func list(_ texts: [String]) throws -> String {
        "[" + texts.map(JSON.quoted).joined(separator: ",") + "]"
    }

    private static func list(_ text: String) -> [String]? {
        if text.isEmpty { return [] }
        guard let value = try? JSON(parsing: Array(text.utf8)), let elements = value.elements else {
            return nil
        }
        let texts = elements.compactMap(\.text)
        return texts.count == elements.count ? texts : nil
    }

    /// A text as a field, quoted if necessary.
    static func quoted(_ text: String) -> String {
        let needsQuotes =
            text.isEmpty || text.first == " " || text.last == " " || text.first == "\u{FEFF}"
            || text.utf8.contains { byte in
                byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\n")
                    || byte == UInt8(ascii: "\r")
            }
        return needsQuotes ? "\"" + text.replacingOccurrences(of: "\"", with: "\"\"") + "\"" : text
    }
}

/// Converts values to and from JSON.
enum ValueJSON {
    /// The JSON text of a value in a column.
    static func text(_ value: Value, _ column: InterchangeColumn) -> String {
        switch value {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .double(let number): "\(number)"
        case .string(let text): JSON.quoted(text)
        case .date(let date):
            column.isExact ? "\(date.timeIntervalSinceReferenceDate)" : JSON.quoted(InstantText.text(date))
        case .uuid(let id): "\"\(id.uuidString)\""
        case .data(let bytes): "\"\(bytes.base64EncodedString())\""
        case .strings(let texts): "[" + texts.map(JSON.quoted).joined(separator: ", ") + "]"
        case .links(let ids): "[" + ids.map { "\"\($0.uuidString)\"" }.joined(separator: ", ") + "]"
        }
    }

    /// The value of a member; nil if it is invalid. Dates, which have two members, are read elsewhere.
    static func value(_ json: JSON, _ column: InterchangeColumn) -> Value? {
        if json == .null { return column.isOptional ? .null : nil }
        switch (column.kind, json) {
        case (.bool, .bool(let flag)): return .bool(flag)
        case (.int, .int(let number)): return .int(number)
        case (.double, .int(let number)): return .double(Double(number))
        case (.double, .double(let number)): return .double(number)
        case (.string, .string(let text)): return .string(text)
        case (.date, .string(let text)): return InstantText.parse(text).map { .date($0) }
        case (.uuid, .string(let text)): return UUID(uuidString: text).map { .uuid($0) }
        case (.data, .string(let text)): return Data(base64Encoded: text).map { .data($0) }
        case (.strings, .array(let elements)):
            let texts = elements.compactMap(\.text)
            return texts.count == elements.count ? .strings(texts) : nil
        case (.links, .array(let elements)):
            let ids = elements.compactMap { $0.text.flatMap(UUID.init(uuidString:)) }
            return ids.count == elements.count ? .links(ids) : nil
        default: return nil
        }
    }
}

/// Instants as text, for people and other programs: `2026-01-31T07:30:00.250Z`.
enum InstantText {
    /// UTC, rounded down to milliseconds; seconds since 2001 if the year does not have four digits.
    static func text(_ date: Date) -> String {
        guard let text = TextDate.text(date), text.utf8.count == "2026-01-31T07:30:00.250Z".utf8.count else {
            return "\(date.timeIntervalSinceReferenceDate)"
        }
        return text
    }

    /// Reads the result of ``text(_:)``, days and other offsets.
    static func parse(_ text: String) -> Date? {
        if let date = TextDate.parse(text) { return date }
        return Double(text).flatMap { $0.isFinite ? Date(timeIntervalSinceReferenceDate: $0) : nil }
    }
}
