import Foundation

/// In JSON a value is an object with one key, its kind: `{"string": "Run"}`, `{"date": 700000000.5}` (seconds since
/// 2001-01-01 UTC), `{"data": "<base64>"}`, and `null` for nil. Kinds stay apart, and numbers keep every bit.
extension Value: Codable {
    /// Reads a value.
    public init(from decoder: any Decoder) throws {
        let single = try decoder.singleValueContainer()
        if single.decodeNil() {
            self = .null
            return
        }
        let container = try decoder.container(keyedBy: AttributeKindKey.self)
        guard container.allKeys.count == 1, let key = container.allKeys.first else {
            throw DecodingError.dataCorruptedError(in: single, debugDescription: "a value has exactly one kind")
        }
        switch key.kind {
        case .bool: self = .bool(try container.decode(Bool.self, forKey: key))
        case .int: self = .int(try container.decode(Int64.self, forKey: key))
        case .double: self = .double(try container.decode(Double.self, forKey: key))
        case .string: self = .string(try container.decode(String.self, forKey: key))
        case .date:
            self = .date(Date(timeIntervalSinceReferenceDate: try container.decode(Double.self, forKey: key)))
        case .uuid: self = .uuid(try container.decode(UUID.self, forKey: key))
        case .data: self = .data(try container.decode(Data.self, forKey: key))
        case .strings: self = .strings(try container.decode([String].self, forKey: key))
        case .links: self = .links(try container.decode([UUID].self, forKey: key))
        }
    }

    /// Writes a value.
    public func encode(to encoder: any Encoder) throws {
        guard let kind else {
            var container = encoder.singleValueContainer()
            try container.encodeNil()
            return
        }
        var container = encoder.container(keyedBy: AttributeKindKey.self)
        let key = AttributeKindKey(kind: kind)
        switch self {
        case .null: break
        case .bool(let flag): try container.encode(flag, forKey: key)
        case .int(let number): try container.encode(number, forKey: key)
        case .double(let number): try container.encode(number, forKey: key)
        case .string(let text): try container.encode(text, forKey: key)
        case .date(let date): try container.encode(date.timeIntervalSinceReferenceDate, forKey: key)
        case .uuid(let id): try container.encode(id, forKey: key)
        case .data(let bytes): try container.encode(bytes, forKey: key)
        case .strings(let texts): try container.encode(texts, forKey: key)
        case .links(let ids): try container.encode(ids, forKey: key)
        }
    }
}

/// The kind of a value as a JSON key.
private struct AttributeKindKey: CodingKey {
    let kind: AttributeKind

    init(kind: AttributeKind) { self.kind = kind }

    init?(stringValue: String) {
        guard let kind = AttributeKind(rawValue: stringValue) else { return nil }
        self.kind = kind
    }

    init?(intValue: Int) { nil }

    var stringValue: String { kind.rawValue }
    var intValue: Int? { nil }
}
