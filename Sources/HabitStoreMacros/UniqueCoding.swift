/// A coding that stores equal values equally, so that they can be unique; or one that rejects its type with a more important error.
public protocol UniqueCoding {}

extension UniqueCoding {
    /// Itself: codings as JSON make this property unavailable.
    public var unique: Self { self }

    /// Itself, like ``unique``.
    public var indexed: Self { self }
}
