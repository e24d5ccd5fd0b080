/// A flat JSON object whose keys are known only where they are used: the form of events and reasons.
struct FlatFields {
    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    private let container: KeyedDecodingContainer<Key>

    init(_ decoder: any Decoder) throws { container = try decoder.container(keyedBy: Key.self) }

    func callAsFunction<Value: Decodable>(_ name: String) throws -> Value {
        try container.decode(Value.self, forKey: Key(name))
    }

    func optional<Value: Decodable>(_ name: String) throws -> Value? {
        try container.decodeIfPresent(Value.self, forKey: Key(name))
    }

    /// Writes the fields that are not nil.
    static func encode(_ fields: KeyValuePairs<String, (any Encodable)?>, to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for (name, value) in fields {
            if let value { try container.encode(value, forKey: Key(name)) }
        }
    }
}
