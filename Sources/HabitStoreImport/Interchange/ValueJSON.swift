import Foundation
import HabitStore

/// Converts values to and from JSON.
enum ValueJSON {
    /// The JSON text of a value in a column.
    static func text(_ value: Value, _ column: InterchangeColumn) -> String {
        switch value {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .int(let number): String(number)
        case .double(let number): "\(number)"
        case .string(let text): JSONText.quoted(text)
        case .date(let date):
            column.isExact ? "\(date.timeIntervalSinceReferenceDate)" : JSONText.quoted(InstantText.text(date))
        case .uuid(let id): "\"\(id.uuidString)\""
        case .data(let bytes): "\"\(bytes.base64EncodedString())\""
        case .strings(let texts): "[" + texts.map(JSONText.quoted).joined(separator: ", ") + "]"
        case .links(let ids): "[" + ids.map { "\"\($0.uuidString)\"" }.joined(separator: ", ") + "]"
        }
    }

    /// The value of a member; nil if it is invalid. Dates, which have two members, are read elsewhere.
    static func value(_ json: ImportJSON, _ column: InterchangeColumn) -> Value? {
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
