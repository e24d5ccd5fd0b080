import Foundation

/// A made-up value of a `Codable` type, by which a model's mapping is proven: what the type decodes from a decoder that has
/// an answer to everything, texts and numbers that tell the attribute at one position from the others.
struct JSONSample: Decoder {
    let position: Int
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// A sample that is equal to itself when it is read back from JSON; nil for a type that refuses made-up values.
    static func make<T: Codable & Equatable>(_ type: T.Type, _ position: Int) -> T? {
        guard let sample = try? JSONSample(position: position, codingPath: []).value(type),
            let json = try? JSONEncoder().encode(sample), let back = try? JSONDecoder().decode(T.self, from: json),
            back == sample
        else { return nil }
        return sample
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(JSONSampleFields<Key>(sample: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { JSONSampleElements(sample: self) }

    func singleValueContainer() -> any SingleValueDecodingContainer { JSONSampleScalar(sample: self) }

    /// The sample of what is inside of this one.
    func inside(_ key: (any CodingKey)?) -> JSONSample {
        JSONSample(position: position, codingPath: codingPath + [key].compactMap { $0 })
    }

    /// A value of any type: types that JSON encoders treat specially, and enums without decoding.
    func value<T: Decodable>(_ type: T.Type) throws -> T {
        // A type that contains itself would never end.
        guard codingPath.count < 16 else { throw Self.refusal(codingPath) }
        if let cases = type as? any CaseIterable.Type, let value = oneCase(cases) as? T { return value }
        let known: Any?
        switch type {
        case is Date.Type: known = Date(timeIntervalSinceReferenceDate: Double(position) + 0.25)
        case is Data.Type: known = Data([UInt8(truncatingIfNeeded: position)])
        case is URL.Type: known = URL(string: "https://example.com/\(position)")
        case is UUID.Type: known = UUID(attributeValue: UUID.probe(position: position))
        case is Decimal.Type: known = Decimal(position)
        default: known = nil
        }
        if let known = known as? T { return known }
        return try T(from: self)
    }

    private func oneCase<T: CaseIterable>(_ type: T.Type) -> Any? {
        let cases = Array(type.allCases)
        return cases.isEmpty ? nil : cases[position % cases.count]
    }

    func integer<T: FixedWidthInteger>(_ type: T.Type) -> T { T(truncatingIfNeeded: position & 0x7f) }

    var text: String { "field \(position)" }

    static func refusal(_ path: [any CodingKey]) -> DecodingError {
        .dataCorrupted(.init(codingPath: path, debugDescription: "no sample can be made"))
    }
}
