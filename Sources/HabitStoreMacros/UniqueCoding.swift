/// How types are kept whose equal values are kept alike, so that they can be unique; or types that cannot be kept, of which that is said.
public protocol UniqueCoding {}

extension UniqueCoding {
    /// Itself: what is kept as JSON has no such property.
    public var unique: Self { self }

    /// Itself, as ``unique``.
    public var indexed: Self { self }
}
