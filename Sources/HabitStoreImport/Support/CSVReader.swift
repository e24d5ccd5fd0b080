import Foundation
import HabitStore

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
