import Foundation

/// One attribute's value as the stores keep it, without its Swift type.
///
/// Text is in Unicode NFC, doubles are finite and never `-0.0`: ``normalized()`` and every writer see to that.
public enum Value: Sendable, Hashable {
    /// The absent value of an optional attribute.
    case null
    /// A truth value.
    case bool(Bool)
    /// A signed 64-bit integer.
    case int(Int64)
    /// A finite double.
    case double(Double)
    /// Text in NFC.
    case string(String)
    /// An instant, exact to the last bit of its `Double`.
    case date(Date)
    /// An identifier.
    case uuid(UUID)
    /// Bytes.
    case data(Data)
    /// A list of texts, in its own order.
    case strings([String])
    /// The identifiers of linked records, ascending and without repeats.
    case links([UUID])
}

extension Value {
    /// Whether this is ``null``.
    public var isNull: Bool {
        if case .null = self { return true }
        return false
    }

    /// The value in its stored form: text in NFC, `-0.0` as `0.0`, links sorted and without repeats.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for NaN and infinities.
    public func normalized() throws -> Value {
        switch self {
        case .double(let number): return .double(try number.storable())
        case .date(let date): return .date(try date.storable())
        case .string(let text): return .string(text.normalizedToNFC())
        case .strings(let texts): return .strings(texts.map { $0.normalizedToNFC() })
        case .links(let ids): return .links(Set(ids).sorted { $0.isBefore($1) })
        case .null, .bool, .int, .uuid, .data: return self
        }
    }
}

extension Value: CustomStringConvertible {
    /// The value as the text form of filters writes it.
    public var description: String {
        switch self {
        case .null: return "nil"
        case .bool(let flag): return flag ? "true" : "false"
        case .int(let number): return String(number)
        case .double(let number): return String(number)
        case .string(let text): return text.quotedForFilter
        case .date(let date): return "date(\(date.timeIntervalSinceReferenceDate))"
        case .uuid(let id): return "uuid(\"\(id.uuidString)\")"
        case .data(let bytes): return "data(\"\(bytes.base64EncodedString())\")"
        case .strings(let texts): return "[" + texts.map(\.quotedForFilter).joined(separator: ", ") + "]"
        case .links(let ids):
            return "links([" + ids.map { "\"\($0.uuidString)\"" }.joined(separator: ", ") + "])"
        }
    }
}

extension String {
    /// The text in double quotes, with `"`, `\` and control characters escaped as in JSON.
    var quotedForFilter: String {
        var result = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\0"..<" ", "\u{7f}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
