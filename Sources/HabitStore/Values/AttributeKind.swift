/// How an attribute's value is kept, apart from its Swift type.
public enum AttributeKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// `Bool`.
    case bool
    /// `Int` or an enum with an `Int` raw value: 64 bits, signed.
    case int
    /// `Double`, finite.
    case double
    /// `String` or an enum with a `String` raw value: text in NFC.
    case string
    /// `Date`: seconds since 2001-01-01 00:00:00 UTC as an exact `Double`.
    case date
    /// `UUID`, also a reference to one record.
    case uuid
    /// `Data`, also a `Codable` value kept as JSON.
    case data
    /// `[String]`.
    case strings
    /// The identifiers of many linked records (`Set<UUID>`).
    case links
}

extension Value {
    /// The kind; nil for null.
    var kind: AttributeKind? {
        switch self {
        case .null: return nil
        case .bool: return .bool
        case .int: return .int
        case .double: return .double
        case .string: return .string
        case .date: return .date
        case .uuid: return .uuid
        case .data: return .data
        case .strings: return .strings
        case .links: return .links
        }
    }
}
