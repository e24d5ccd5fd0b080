import Foundation
import HabitStore

/// Reads rows of comma-separated values as RFC 4180 has them, from a file, a piece at a time.
///
/// Lines end with LF or CRLF. A field in quotes may hold anything, quotes doubled. A byte order mark at the beginning is
/// passed over. Unlike the RFC, rows may differ in length: who reads them says what that means.
package struct CSVReader {
    /// A field: its text, and whether it stood in quotes, by which some tell nothing from an empty text.
    package struct Field: Equatable {
        package var text: String
        package var isQuoted = false

        package init(text: String, isQuoted: Bool = false) {
            self.text = text
            self.isQuoted = isQuoted
        }
    }

    /// The most bytes of one row.
    package static let maximumRowBytes = 64 << 20
    private static let chunk = 1 << 16

    private let path: String
    private let file: FileHandle?
    private var buffer: [UInt8]
    private var position = 0
    private var isAtEnd: Bool
    /// The line on which the last row began, from 1.
    package private(set) var line = 0
    /// Whether the last row ended with a line break, and not with the file.
    package private(set) var isLineEnded = false
    private var nextLine = 1

    /// Reads a file.
    package init(path: String) throws {
        self.path = path
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw HabitStoreError.system(errno, "the file cannot be read", path) }
        file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        buffer = []
        isAtEnd = false
        passOverMark()
    }

    /// Reads bytes that are in memory.
    package init(_ bytes: [UInt8], path: String) {
        self.path = path
        file = nil
        buffer = bytes
        isAtEnd = true
        passOverMark()
    }

    /// The next row; nil at the end. A line without anything on it is a row of one empty field.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` for a quote without its other one, or text that is no UTF-8.
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
                guard !isQuoted else { throw failure("a quoted field goes on behind its quote") }
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
        guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("a field is no text in UTF-8") }
        return Field(text: text, isQuoted: isQuoted)
    }

    /// The next byte, which stays; nil at the end.
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
