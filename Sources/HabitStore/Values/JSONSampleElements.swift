/// The elements of a made-up array: one.
struct JSONSampleElements: UnkeyedDecodingContainer {
    let sample: JSONSample
    var codingPath: [any CodingKey] { sample.codingPath }
    var count: Int? { 1 }
    var isAtEnd: Bool { currentIndex > 0 }
    private(set) var currentIndex = 0

    init(sample: JSONSample) { self.sample = sample }

    private struct Place: CodingKey {
        let intValue: Int?
        var stringValue: String { "0" }
        init?(stringValue: String) { return nil }
        init(intValue: Int) { self.intValue = intValue }
    }

    private mutating func next() throws -> JSONSample {
        guard !isAtEnd else { throw JSONSample.refusal(codingPath) }
        currentIndex += 1
        return sample.inside(Place(intValue: 0))
    }

    func decodeNil() -> Bool { false }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next().value(type) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested>
    {
        try next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try next() }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try next().position % 2 == 1 }
    mutating func decode(_ type: String.Type) throws -> String { try next().text }
    mutating func decode(_ type: Double.Type) throws -> Double { Double(try next().position) + 0.5 }
    mutating func decode(_ type: Float.Type) throws -> Float { Float(try next().position) + 0.5 }
    mutating func decode(_ type: Int.Type) throws -> Int { try next().integer(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try next().integer(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try next().integer(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try next().integer(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try next().integer(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try next().integer(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try next().integer(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try next().integer(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try next().integer(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try next().integer(type) }
}
