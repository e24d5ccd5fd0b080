/// The type of an attribute, as Core Data numbers it (`NSAttributeType`).
public enum CoreDataAttributeType: Int, Sendable, Hashable, Encodable, CaseIterable {
    /// Nothing was said.
    case undefined = 0
    /// Whole numbers of 16 bits.
    case integer16 = 100
    /// Whole numbers of 32 bits.
    case integer32 = 200
    /// Whole numbers of 64 bits.
    case integer64 = 300
    /// Decimal numbers, which Core Data stores as doubles.
    case decimal = 400
    /// Doubles.
    case double = 500
    /// Floats, stored as doubles.
    case float = 600
    /// Text.
    case string = 700
    /// Truth values, stored as 0 and 1.
    case boolean = 800
    /// Instants, stored as seconds since 2001-01-01 00:00:00 UTC.
    case date = 900
    /// Bytes.
    case binary = 1000
    /// UUIDs, stored as 16 bytes.
    case uuid = 1100
    /// URIs, stored as text.
    case uri = 1200
    /// What the app's transformer made of an object: bytes.
    case transformable = 1800
    /// The identity of an object.
    case objectID = 2000
    /// A group of attributes, each in a column of its own.
    case composite = 2100

    /// The name in words.
    public var name: String {
        switch self {
        case .uuid: return "UUID"
        case .uri: return "URI"
        default: return "\(self)"
        }
    }

    /// Writes the name.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }

    /// The column type that Core Data declares for it; nil where that is not known.
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
