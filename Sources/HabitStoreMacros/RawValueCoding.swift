import HabitStore

/// What stands for the coding of an enum that does not declare ``AttributeEnum``, so that the compiler says so.
public struct RawValueCoding<V: Codable & Sendable & Equatable>: UniqueCoding, Sendable {
    /// Says what is wrong.
    @available(*, unavailable, message: "an enum is kept by its raw value: let it declare AttributeEnum")
    public var kept: JSONCoding<V> { JSONCoding() }
}
