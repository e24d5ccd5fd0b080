import Foundation

/// A `Codable` value as one attribute, kept as JSON with sorted keys.
///
/// Filters cannot look into it natively; a predicate that does is answered by evaluation over a scan.
@propertyWrapper
public struct JSONAttribute<Wrapped: Codable & Sendable & Equatable>: AttributeConvertible, Codable, Equatable {
    /// The value.
    public var wrappedValue: Wrapped

    /// Wraps a value.
    public init(wrappedValue: Wrapped) { self.wrappedValue = wrappedValue }

    /// ``AttributeKind/data``.
    public static var attributeKind: AttributeKind { .data }

    /// Whether the value's type says that it has one value.
    public static var hasOneValue: Bool { (Wrapped.self as? any JSONAttributeProbing.Type)?.hasOneValue ?? false }

    /// The JSON of a sample: the type's own if it is ``JSONAttributeProbing``, otherwise a made-up one. Null where none can be
    /// made; the attribute's default stands in for it then.
    public static func probe(position: Int) -> Value {
        let type = Wrapped.self as? any JSONAttributeProbing.Type
        let own = type?.probe(position: position) as? Wrapped
        guard let sample = own ?? JSONSample.make(Wrapped.self, position) else { return .null }
        return (try? JSONAttribute(wrappedValue: sample).attributeValue()) ?? .null
    }

    /// Decodes the JSON; nil when it does not decode.
    public init?(attributeValue: Value) {
        guard case .data(let json) = attributeValue,
            let value = try? JSONDecoder().decode(Wrapped.self, from: json)
        else { return nil }
        wrappedValue = value
    }

    /// True: ``attributeValue()`` compares each value.
    public static var alwaysReadsBackEqual: Bool { true }

    /// The JSON, with sorted keys.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for a value that cannot be encoded, or that its JSON does not decode to: a
    ///   `Decimal` that is NaN, a `URL` that is relative to another one.
    public func attributeValue() throws -> Value {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json: Data
        do {
            json = try encoder.encode(wrappedValue)
        } catch {
            throw HabitStoreError(
                .invalidValue,
                "a Codable attribute of type \(Wrapped.self) could not be encoded as JSON",
                underlying: error
            )
        }
        let decoded: Wrapped
        do {
            decoded = try JSONDecoder().decode(Wrapped.self, from: json)
        } catch {
            throw HabitStoreError(
                .invalidValue,
                "a value of type \(Wrapped.self) could not be decoded from the JSON that it is kept as: a Decimal in it may be NaN; "
                    + "store a value that can be read back, or nil",
                underlying: error
            )
        }
        guard decoded == wrappedValue else {
            throw HabitStoreError(
                .invalidValue,
                "a value of type \(Wrapped.self) would be read back as a different value from the JSON that it is kept as: of a relative URL "
                    + "store the absoluteURL; otherwise let its init(from:) restore all that == compares"
            )
        }
        return .data(json)
    }
}

/// A `Codable` value that can give samples of itself, so that a model's mapping can be proven. Most types need not: samples of
/// them are made up. A type needs it that refuses made-up values, where the attribute has no default either.
public protocol JSONAttributeProbing {
    /// A value that tells the attribute at `position` from the others.
    static func probe(position: Int) -> Self
    /// Whether the type has one value and no other; see ``AttributeConvertible/hasOneValue``.
    static var hasOneValue: Bool { get }
}

extension JSONAttributeProbing {
    /// It has several, unless a type says otherwise.
    public static var hasOneValue: Bool { false }
}

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
