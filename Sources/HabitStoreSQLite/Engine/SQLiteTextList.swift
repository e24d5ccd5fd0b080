import Foundation
import HabitStore

/// A list of texts as a JSON array, which SQLite's own JSON functions can read.
enum SQLiteTextList {
    /// The shortest form: no whitespace, and only the escapes that JSON requires.
    static func encode(_ texts: [String]) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(UInt8(ascii: "\""))
            for byte in text.utf8 {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
                case 0..<0x20:
                    let digits = Array("0123456789abcdef".utf8)
                    bytes += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
                default: bytes.append(byte)
                }
            }
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: "]"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The texts of any JSON array of texts; nil for anything else.
    static func decode(_ json: String) -> [String]? {
        if let texts = decodePlain(json) { return texts }
        // Escapes and whitespace are rare enough for the general decoder.
        return try? JSONDecoder().decode([String].self, from: Data(json.utf8))
    }

    /// Decodes the form that ``encode(_:)`` writes without escapes; nil for any other.
    private static func decodePlain(_ json: String) -> [String]? {
        let quote = UInt8(ascii: "\"")
        var texts: [String] = []
        var rest = Substring(json).utf8
        guard rest.popFirst() == UInt8(ascii: "[") else { return nil }
        if rest.first == UInt8(ascii: "]") { return rest.count == 1 ? [] : nil }
        while true {
            guard rest.popFirst() == quote, let end = rest.firstIndex(of: quote) else { return nil }
            let text = rest[..<end]
            guard !text.contains(where: { $0 == UInt8(ascii: "\\") || $0 < 0x20 }) else { return nil }
            texts.append(String(Substring(text)))
            rest = rest[rest.index(after: end)...]
            switch rest.popFirst() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "]"): return rest.isEmpty ? texts : nil
            default: return nil
            }
        }
    }
}
