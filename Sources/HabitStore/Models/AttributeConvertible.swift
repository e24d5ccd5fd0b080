import Foundation

/// A Swift type that an attribute of a model can have.
///
/// `Bool`, `Int`, `Double`, `String`, `Date`, `UUID`, `Data`, `[String]`, `Set<UUID>`, optionals of them, enums that
/// declare ``AttributeEnum``, and any `Codable` value inside a ``JSONAttribute``.
public protocol AttributeConvertible: Sendable {
    /// How values of this type are kept.
    static var attributeKind: AttributeKind { get }
    /// Whether nil is a value of this type.
    static var isOptionalAttribute: Bool { get }
    /// Whether the type has one value and no other, so that two attributes of it are alike wherever they are kept.
    static var hasOneValue: Bool { get }
    /// A value that tells the attribute at `position` from the others: another one for each of a model's positions as far as the
    /// type has so many, and two at least for 0 and 1. A model's mapping is proven by them.
    static func probe(position: Int) -> Value
    /// Whether ``init(attributeValue:)`` always restores an equal value from ``attributeValue()``. Where it is false, the store compares
    /// each value before it stores it.
    static var alwaysReadsBackEqual: Bool { get }
    /// Makes a value from what is kept, or nil when it is of another kind.
    init?(attributeValue: Value)
    /// The stored value.
    func attributeValue() throws -> Value
}

extension AttributeConvertible {
    /// Not optional, unless a type says otherwise.
    public static var isOptionalAttribute: Bool { false }
    /// It has several, unless a type says otherwise.
    public static var hasOneValue: Bool { false }
    /// Values are compared, unless a type says otherwise.
    public static var alwaysReadsBackEqual: Bool { false }

    /// The value to store.
    ///
    /// - Throws: also ``HabitStoreError/Code/invalidValue`` when another value would be read back, or none.
    func valueThatReadsBackEqual() throws -> Value {
        let value = try attributeValue()
        guard !Self.alwaysReadsBackEqual else { return value }
        guard let back = try Self(attributeValue: value.normalized()) else {
            throw HabitStoreError(
                .invalidValue,
                "a value of type \(Self.self) is kept as something that its init(attributeValue:) does not take; let both agree"
            )
        }
        func isEqual<E: Equatable>(_ value: E) -> Bool { back as? E == value }
        guard let own = self as? any Equatable, !isEqual(own) else { return value }
        throw HabitStoreError(
            .invalidValue,
            "a value of type \(Self.self) would be read back as a different value; let init(attributeValue:) make of attributeValue() what it "
                + "was made from"
        )
    }
}

extension Bool: AttributeConvertible {
    /// ``AttributeKind/bool``.
    public static var attributeKind: AttributeKind { .bool }
    /// True: each value reads back equal.
    public static var alwaysReadsBackEqual: Bool { true }
    /// Odd positions are true.
    public static func probe(position: Int) -> Value { .bool(position % 2 == 1) }
    /// Takes a ``Value/bool(_:)``.
    public init?(attributeValue: Value) {
        guard case .bool(let flag) = attributeValue else { return nil }
        self = flag
    }
    /// A ``Value/bool(_:)``.
    public func attributeValue() -> Value { .bool(self) }
}

extension Int: AttributeConvertible {
    /// ``AttributeKind/int``.
    public static var attributeKind: AttributeKind { .int }
    /// True: each value reads back equal.
    public static var alwaysReadsBackEqual: Bool { true }
    /// The position itself.
    public static func probe(position: Int) -> Value { .int(Int64(position)) }
    /// Takes a ``Value/int(_:)``.
    public init?(attributeValue: Value) {
        guard case .int(let number) = attributeValue else { return nil }
        self.init(exactly: number)
    }
    /// A ``Value/int(_:)``.
    public func attributeValue() -> Value { .int(Int64(self)) }
}

extension Double: AttributeConvertible {
    /// ``AttributeKind/double``.
    public static var attributeKind: AttributeKind { .double }
    /// True: each value reads back equal.
    public static var alwaysReadsBackEqual: Bool { true }
    /// The position and a half.
    public static func probe(position: Int) -> Value { .double(Double(position) + 0.5) }
    /// Takes a ``Value/double(_:)``.
    public init?(attributeValue: Value) {
        guard case .double(let number) = attributeValue else { return nil }
        self = number
    }
    /// A ``Value/double(_:)``; throws for NaN and infinities.
    public func attributeValue() throws -> Value { .double(try storable()) }
}

extension String: AttributeConvertible {
    /// ``AttributeKind/string``.
    public static var attributeKind: AttributeKind { .string }
    /// True: each value reads back equal.
    public static var alwaysReadsBackEqual: Bool { true }
    /// A text that names the position.
    public static func probe(position: Int) -> Value { .string("field \(position)") }
    /// Takes a ``Value/string(_:)``.
    public init?(attributeValue: Value) {
        guard case .string(let text) = attributeValue else { return nil }
        self = text
    }
    /// A ``Value/string(_:)`` in NFC.
    public func attributeValue() -> Value { .string(normalizedToNFC()) }
}

extension Date: AttributeConvertible {
    /// ``AttributeKind/date``.
    public static var attributeKind: AttributeKind { .date }
    /// True: each value reads back equal.
    public static var alwaysReadsBackEqual: Bool { true }
    /// That many seconds after the reference date.
    public static func probe(position: Int) -> Value {
        .date(Date(timeIntervalSinceReferenceDate: Double(position) + 0.25))
    }
    /// Takes a ``Value/date(_:)``.
    public init?(attributeValue: Value) {
        guard case .date(let date) = attributeValue else { return nil }
        self = date
    }
    /// A ``Value/date(_:)``; throws for NaN and infinities.
    public func attributeValue() throws -> Value { .date(try storable()) }
}

extension UUID: AttributeConvertible {
    /// ``AttributeKind/uuid``.
    public static var attributeKind: AttributeKind { .uuid }
    /// True: each value reads back equal.
    public static var alwaysReadsBackEqual: Bool { true }
    /// Zeros, and the position as the last byte.
    public static func probe(position: Int) -> Value {
        .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(truncatingIfNeeded: position))))
    }
    /// Takes a ``Value/uuid(_:)``.
    public init?(attributeValue: Value) {
        guard case .uuid(let id) = attributeValue else { return nil }
        self = id
    }
    /// A ``Value/uuid(_:)``.
    public func attributeValue() -> Value { .uuid(self) }
}

extension Data: AttributeConvertible {
    /// ``AttributeKind/data``.
    public static var attributeKind: AttributeKind { .data }
    /// True: each value reads back equal.
    public static var alwaysReadsBackEqual: Bool { true }
    /// One byte, the position.
    public static func probe(position: Int) -> Value { .data(Data([UInt8(truncatingIfNeeded: position)])) }
    /// Takes a ``Value/data(_:)``.
    public init?(attributeValue: Value) {
        guard case .data(let bytes) = attributeValue else { return nil }
        self = bytes
    }
    /// A ``Value/data(_:)``.
    public func attributeValue() -> Value { .data(self) }
}

extension Array: AttributeConvertible where Element == String {
    /// ``AttributeKind/strings``.
    public static var attributeKind: AttributeKind { .strings }
    /// True: each value reads back equal.
    public static var alwaysReadsBackEqual: Bool { true }
    /// A list of one text that names the position.
    public static func probe(position: Int) -> Value { .strings(["element \(position)"]) }
    /// Takes a ``Value/strings(_:)``.
    public init?(attributeValue: Value) {
        guard case .strings(let texts) = attributeValue else { return nil }
        self = texts
    }
    /// A ``Value/strings(_:)``, each text in NFC.
    public func attributeValue() -> Value { .strings(map { $0.normalizedToNFC() }) }
}

extension Set: AttributeConvertible where Element == UUID {
    /// ``AttributeKind/links``.
    public static var attributeKind: AttributeKind { .links }
    /// True: each value reads back equal.
    public static var alwaysReadsBackEqual: Bool { true }
    /// One identifier that names the position.
    public static func probe(position: Int) -> Value {
        guard case .uuid(let id) = UUID.probe(position: position) else { return .links([]) }
        return .links([id])
    }
    /// Takes a ``Value/links(_:)``.
    public init?(attributeValue: Value) {
        guard case .links(let ids) = attributeValue else { return nil }
        self.init(ids)
    }
    /// A ``Value/links(_:)``, ascending.
    public func attributeValue() -> Value { .links(sorted { $0.isBefore($1) }) }
}

extension Optional: AttributeConvertible where Wrapped: AttributeConvertible {
    /// The kind of the wrapped type.
    public static var attributeKind: AttributeKind { Wrapped.attributeKind }
    /// nil is a value.
    public static var isOptionalAttribute: Bool { true }
    /// The wrapped type's.
    public static var alwaysReadsBackEqual: Bool { Wrapped.alwaysReadsBackEqual }
    /// The wrapped type's.
    public static func probe(position: Int) -> Value { Wrapped.probe(position: position) }
    /// Takes what the wrapped type takes, and null.
    public init?(attributeValue: Value) {
        if attributeValue.isNull {
            self = .none
        } else {
            guard let wrapped = Wrapped(attributeValue: attributeValue) else { return nil }
            self = .some(wrapped)
        }
    }
    /// Null, or what the wrapped value gives.
    public func attributeValue() throws -> Value { try map { try $0.attributeValue() } ?? .null }
}

/// An enum that an attribute can have: it is kept as its raw value, and filters compare raw values.
///
/// Declare `enum Mood: String, AttributeEnum { case good, bad }` and nothing more.
public protocol AttributeEnum: RawRepresentable, CaseIterable, Codable, AttributeConvertible
where RawValue: AttributeConvertible {}

extension AttributeEnum {
    /// The kind of the raw value.
    public static var attributeKind: AttributeKind { RawValue.attributeKind }

    /// Whether there is one case.
    public static var hasOneValue: Bool { allCases.count == 1 }

    /// A case has one raw value.
    public static var alwaysReadsBackEqual: Bool { true }

    /// The raw value of one of the cases.
    public static func probe(position: Int) -> Value {
        let cases = Array(allCases)
        guard !cases.isEmpty, let value = try? cases[position % cases.count].attributeValue() else { return .null }
        return value
    }

    /// Takes the raw value of a case; nil for a raw value that no case has.
    public init?(attributeValue: Value) {
        guard let raw = RawValue(attributeValue: attributeValue) else { return nil }
        self.init(rawValue: raw)
    }

    /// The raw value.
    public func attributeValue() throws -> Value { try rawValue.attributeValue() }
}
