import Foundation

/// Names as a JSON array. Names of ASCII letters that need no escape, which nearly all are, bypass the general coder, which would
/// cost more than the rest of the history's record.
enum NameList {
    private static let quote = UInt8(ascii: "\"")

    static func append(_ names: [String], to bytes: inout [UInt8]) throws {
        guard names.allSatisfy({ $0.utf8.allSatisfy(isPlain) }) else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .withoutEscapingSlashes
            return bytes.append(contentsOf: try encoder.encode(names))
        }
        bytes.append(UInt8(ascii: "["))
        for (place, name) in names.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(quote)
            bytes.append(contentsOf: name.utf8)
            bytes.append(quote)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// - Throws: `DecodingError` for anything but an array of texts.
    static func names(_ bytes: UnsafeRawBufferPointer) throws -> [String] {
        if let names = plainNames(bytes) { return names }
        return try JSONDecoder().decode([String].self, from: Data(bytes))
    }

    /// Nil for any form that needs the general decoder.
    private static func plainNames(_ bytes: UnsafeRawBufferPointer) -> [String]? {
        guard bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]"), bytes.count > 1 else { return nil }
        var names: [String] = []
        var rest = bytes[1..<bytes.count - 1]
        while !rest.isEmpty {
            guard rest.popFirst() == quote, let end = rest.firstIndex(where: { !isPlain($0) }), rest[end] == quote
            else { return nil }
            names.append(String(decoding: rest[..<end], as: UTF8.self))
            rest = rest[(end + 1)...]
            // A comma separates two names, and nothing follows the last one.
            if rest.isEmpty { return names }
            guard rest.popFirst() == UInt8(ascii: ","), !rest.isEmpty else { return nil }
        }
        return names
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20..<0x7f).contains(byte) && byte != quote && byte != UInt8(ascii: "\\")
    }
}
