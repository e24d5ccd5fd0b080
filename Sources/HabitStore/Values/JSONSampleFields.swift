/// The members of a made-up object: whatever is asked for is there.
struct JSONSampleFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let sample: JSONSample
    var codingPath: [any CodingKey] { sample.codingPath }
    /// The position, where it is a key, as in dictionaries. A key type does not say which it has, so that enums with values refuse.
    var allKeys: [Key] { [Key(stringValue: "\(sample.position)")].compactMap(\.self) }

    func contains(_ key: Key) -> Bool { true }
    func decodeNil(forKey key: Key) -> Bool { false }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try sample.inside(key).value(type) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) -> KeyedDecodingContainer<Nested> {
        sample.inside(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
        sample.inside(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { sample.inside(nil) }
    func superDecoder(forKey key: Key) -> any Decoder { sample.inside(key) }

    func decode(_ type: Bool.Type, forKey key: Key) -> Bool { sample.position % 2 == 1 }
    func decode(_ type: String.Type, forKey key: Key) -> String { sample.text }
    func decode(_ type: Double.Type, forKey key: Key) -> Double { Double(sample.position) + 0.5 }
    func decode(_ type: Float.Type, forKey key: Key) -> Float { Float(sample.position) + 0.5 }
    func decode(_ type: Int.Type, forKey key: Key) -> Int { sample.integer(type) }
    func decode(_ type: Int8.Type, forKey key: Key) -> Int8 { sample.integer(type) }
    func decode(_ type: Int16.Type, forKey key: Key) -> Int16 { sample.integer(type) }
    func decode(_ type: Int32.Type, forKey key: Key) -> Int32 { sample.integer(type) }
    func decode(_ type: Int64.Type, forKey key: Key) -> Int64 { sample.integer(type) }
    func decode(_ type: UInt.Type, forKey key: Key) -> UInt { sample.integer(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) -> UInt8 { sample.integer(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) -> UInt16 { sample.integer(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) -> UInt32 { sample.integer(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) -> UInt64 { sample.integer(type) }
}
