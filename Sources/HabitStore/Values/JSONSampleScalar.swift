/// A made-up value that is neither an object nor an array.
struct JSONSampleScalar: SingleValueDecodingContainer {
    let sample: JSONSample
    var codingPath: [any CodingKey] { sample.codingPath }

    func decodeNil() -> Bool { false }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try sample.value(type) }
    func decode(_ type: Bool.Type) -> Bool { sample.position % 2 == 1 }
    func decode(_ type: String.Type) -> String { sample.text }
    func decode(_ type: Double.Type) -> Double { Double(sample.position) + 0.5 }
    func decode(_ type: Float.Type) -> Float { Float(sample.position) + 0.5 }
    func decode(_ type: Int.Type) -> Int { sample.integer(type) }
    func decode(_ type: Int8.Type) -> Int8 { sample.integer(type) }
    func decode(_ type: Int16.Type) -> Int16 { sample.integer(type) }
    func decode(_ type: Int32.Type) -> Int32 { sample.integer(type) }
    func decode(_ type: Int64.Type) -> Int64 { sample.integer(type) }
    func decode(_ type: UInt.Type) -> UInt { sample.integer(type) }
    func decode(_ type: UInt8.Type) -> UInt8 { sample.integer(type) }
    func decode(_ type: UInt16.Type) -> UInt16 { sample.integer(type) }
    func decode(_ type: UInt32.Type) -> UInt32 { sample.integer(type) }
    func decode(_ type: UInt64.Type) -> UInt64 { sample.integer(type) }
}
