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
