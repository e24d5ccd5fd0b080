/// What stands for the coding of a type that cannot be kept, so that the compiler says so.
public struct RefusedCoding: UniqueCoding, Sendable {
    /// Says what is wrong.
    @available(
        *,
        unavailable,
        message: "an attribute's type must be AttributeConvertible, or Codable, Sendable and Equatable"
    )
    public var kept: RefusedCoding { self }
}

/// Refuses an optional of an optional, whose inner nil would be read back as nil.
public struct RefusedOptionalCoding<Coding: Sendable>: UniqueCoding, Sendable {
    let coding: Coding

    /// Says what is wrong; nothing else is, so that nothing else is said.
    @available(
        *,
        unavailable,
        message: "an optional of an optional would be read back as nil where it holds nil: declare it optional once"
    )
    public var kept: Coding { coding }
}

/// What stands for the coding of a model, which would be kept as a copy that no change of the record reaches.
public struct RefusedModelCoding<Coding: Sendable>: UniqueCoding, Sendable {
    let coding: Coding

    /// Says what is wrong; nothing else is, so that nothing else is said.
    @available(
        *,
        unavailable,
        message: "a model is no attribute, but what a relationship leads to: write @ToOne before it"
    )
    public var kept: Coding { coding }
}

/// What stands for the coding of several models.
public struct RefusedModelsCoding<Coding: Sendable>: UniqueCoding, Sendable {
    let coding: Coding

    /// Says what is wrong; nothing else is, so that nothing else is said.
    @available(
        *,
        unavailable,
        message: "models are no attribute, but what a relationship leads to: write @ToMany or @ManyToMany before it"
    )
    public var kept: Coding { coding }
}
