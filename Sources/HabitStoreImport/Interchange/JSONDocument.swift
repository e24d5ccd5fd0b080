import Foundation
import HabitStore
import JSONText

/// Reads an export in a JSON document record by record, so that the records are never all in memory. Members may have any order and layout.
struct JSONDocument {
    /// The maximum size of one record, and of everything else together.
    static let maximumValueBytes = 64 << 20
    private static let records = "records"

    private let stream: ByteStream

    /// Whether bytes may be the beginning of an export.
    static func isExport(_ head: [UInt8]) -> Bool {
        let text = String(decoding: head, as: UTF8.self)
        return text.drop(while: \.isWhitespace).first == "{" && text.contains("\"\(InterchangeHeader.format)\"")
    }

    private init(_ path: String) throws { stream = try ByteStream(path) }

    /// Reads everything except the records.
    static func header(_ path: String) throws -> InterchangeHeader {
        let document = try JSONDocument(path)
        var members: [String] = []
        try document.walk { name, value in
            members.append(JSON.quoted(name) + ":" + String(decoding: value, as: UTF8.self))
        } record: { _, _ in
        }
        return try InterchangeHeader(Data("{\(members.joined(separator: ","))}".utf8), path: path)
    }

    /// Calls `body` with the entity name and the bytes of each record.
    static func forEachRecord(_ path: String, _ body: (String, [UInt8]) throws -> Void) throws {
        try JSONDocument(path).walk({ _, _ in }, record: body)
    }

    private func walk(
        _ member: (String, [UInt8]) throws -> Void,
        record: (String, [UInt8]) throws -> Void
    ) throws {
        if try stream.peek() == 0xEF { for _ in 0..<3 { _ = try stream.take() } }
        try members { name in
            guard name == Self.records else { return try member(name, try rawValue()) }
            try members { entity in
                try elements { try record(entity, try rawValue()) }
            }
        }
        try skipSpace()
        guard try stream.peek() == nil else { throw failure("something follows the document") }
    }

    private func members(_ body: (String) throws -> Void) throws {
        try expect("{")
        try skipSpace()
        if try stream.peek() == UInt8(ascii: "}") {
            _ = try stream.take()
            return
        }
        var names: Set<String> = []
        while true {
            try skipSpace()
            guard case .string(let name) = try parsed(try rawValue()) else { throw failure("a member has no name") }
            guard names.insert(name).inserted else { throw failure("a member is there twice") }
            try expect(":")
            try skipSpace()
            try body(name)
            guard try goesOn(until: "}") else { return }
        }
    }

    private func elements(_ body: () throws -> Void) throws {
        try expect("[")
        try skipSpace()
        if try stream.peek() == UInt8(ascii: "]") {
            _ = try stream.take()
            return
        }
        repeat {
            try skipSpace()
            try body()
        } while try goesOn(until: "]")
    }

    private func goesOn(until end: Unicode.Scalar) throws -> Bool {
        try skipSpace()
        switch try stream.take() {
        case UInt8(ascii: ","): return true
        case UInt8(ascii: end): return false
        case nil: throw failure("it is cut short")
        default: throw failure("there is no comma where one should be")
        }
    }

    /// The bytes of a whole value. Only brackets and quotes are counted; the parser validates the rest.
    private func rawValue() throws -> [UInt8] {
        var bytes: [UInt8] = []
        var (depth, isText, isEscaped) = (0, false, false)
        while let byte = try stream.peek() {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isText = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return bytes }
                    depth -= 1
                case UInt8(ascii: ","), UInt8(ascii: ":"): if depth == 0 { return bytes }
                default: break
                }
            }
            bytes.append(byte)
            _ = try stream.take()
            guard bytes.count <= Self.maximumValueBytes else { throw failure("a record is too long") }
            if depth == 0, !isText, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
            {
                return bytes
            }
        }
        throw failure("it is cut short")
    }

    private func parsed(_ bytes: [UInt8]) throws -> JSON {
        do {
            return try JSON(parsing: bytes)
        } catch {
            throw failure(error.message)
        }
    }

    private func expect(_ scalar: Unicode.Scalar) throws {
        try skipSpace()
        guard try stream.take() == UInt8(ascii: scalar) else {
            throw failure("there is no \(scalar) where one should be")
        }
    }

    private func skipSpace() throws {
        while let byte = try stream.peek(), byte == 0x20 || (0x09...0x0D).contains(byte) { _ = try stream.take() }
    }

    private func failure(_ message: String) -> HabitStoreError {
        HabitStoreError(
            .invalidSource,
            "the JSON is damaged at byte \(stream.offset): \(message)",
            at: .init(path: stream.path)
        )
    }
}

extension JSON {
    /// Refuses a document from which a decoder would silently drop something (all but one of several members with the same name, the last digits
    /// of long numbers), and one nested so deeply that decoding it could exhaust the stack. The decoder refuses what is not JSON.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidSource`` with the place, or ``HabitStoreError/Code/limitExceeded``.
    package static func require(_ bytes: [UInt8], _ rules: JSONParser.Rules, path: String) throws {
        let mark = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        var parser = JSONParser(Array(bytes.dropFirst(mark)), rules)
        do {
            _ = try parser.parse()
        } catch {
            switch error.cause {
            case .syntax, .nothing: return
            case .depth:
                let message = "the JSON is nested deeper than \(rules.depth) levels"
                throw HabitStoreError(.limitExceeded, message, at: .init(path: path))
            case .refused:
                let lines = bytes.prefix(mark + error.offset).split(
                    separator: UInt8(ascii: "\n"),
                    omittingEmptySubsequences: false
                )
                let place = "line \(lines.count), byte \((lines.last?.count ?? 0) + 1)"
                throw HabitStoreError(.invalidSource, "\(error.message) (\(place))", at: .init(path: path))
            }
        }
    }
}

/// Reads a file byte by byte, with a buffer.
final class ByteStream {
    private static let chunk = 1 << 18

    let path: String
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var position = 0
    /// The number of bytes consumed.
    private(set) var offset = 0

    init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw HabitStoreError.system(errno, "the file cannot be read", path) }
    }

    deinit { close(descriptor) }

    /// The next byte, without consuming it; nil at the end.
    @inline(__always)
    func peek() throws -> UInt8? {
        if position < buffer.count { return buffer[position] }
        return try fill() ? buffer[0] : nil
    }

    /// Consumes the next byte.
    @inline(__always)
    func take() throws -> UInt8? {
        guard let byte = try peek() else { return nil }
        position += 1
        offset += 1
        return byte
    }

    private func fill() throws -> Bool {
        var room = [UInt8](repeating: 0, count: Self.chunk)
        while true {
            let count = room.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw HabitStoreError.system(errno, "the file cannot be read", path)
            }
            room.removeLast(room.count - count)
            (buffer, position) = (room, 0)
            return count > 0
        }
    }
}
