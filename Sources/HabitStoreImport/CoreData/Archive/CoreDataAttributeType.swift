/// An attribute's type, with Core Data's raw values (`NSAttributeType`).
public enum CoreDataAttributeType: Int, Sendable, Hashable, Encodable, CaseIterable {
    /// No type was declared.
    case undefined = 0
    /// 16-bit integers.
    case integer16 = 100
    /// 32-bit integers.
    case integer32 = 200
    /// 64-bit integers.
    case integer64 = 300
    /// Decimal numbers, stored as doubles.
    case decimal = 400
    /// Doubles.
    case double = 500
    /// Floats, stored as doubles.
    case float = 600
    /// Text.
    case string = 700
    /// Booleans, stored as 0 and 1.
    case boolean = 800
    /// Dates, stored as seconds since 2001-01-01 00:00:00 UTC.
    case date = 900
    /// Bytes.
    case binary = 1000
    /// UUIDs, stored as 16 bytes.
    case uuid = 1100
    /// URIs, stored as text.
    case uri = 1200
    /// The bytes that the app's value transformer made from an object.
    case transformable = 1800
    /// The identity of an object.
    case objectID = 2000
    /// A group of attributes, each in its own column.
    case composite = 2100

    /// The type's name in messages.
    public var name: String {
        switch self {
        case .uuid: return "UUID"
        case .uri: return "URI"
        default: return "\(self)"
        }
    }

    /// Encodes the name.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }

    /// The column type that Core Data declares; nil if unknown.
    var columnType: String? {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: return "INTEGER"
        case .decimal: return "DECIMAL"
        case .double, .float: return "FLOAT"
        case .string, .uri: return "VARCHAR"
        case .date: return "TIMESTAMP"
        case .binary, .uuid, .transformable: return "BLOB"
        case .undefined, .objectID, .composite: return nil
        }
    }
}
