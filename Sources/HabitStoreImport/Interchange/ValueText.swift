import Foundation
import HabitStore

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
        "[" + texts.map(JSONText.quoted).joined(separator: ",") + "]"
    }

    private static func list(_ text: String) -> [String]? {
        if text.isEmpty { return [] }
        guard let value = try? JSONValueParser.parse(Array(text.utf8)), let elements = value.elements else {
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
