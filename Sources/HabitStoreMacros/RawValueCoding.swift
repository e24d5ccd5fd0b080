import HabitStore

/// Rejects an enum that does not declare ``AttributeEnum`` with an error of the compiler.
public struct RawValueCoding<V: Codable & Sendable & Equatable>: UniqueCoding, Sendable {
    /// Makes the compiler report what is missing.
    @available(*, unavailable, message: "an enum is kept by its raw value: let it declare AttributeEnum")
    public var kept: JSONCoding<V> { JSONCoding() }
}
