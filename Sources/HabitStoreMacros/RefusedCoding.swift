/// Rejects a type that cannot be stored with an error of the compiler.
public struct RefusedCoding: UniqueCoding, Sendable {
    /// Makes the compiler report the requirement.
    @available(
        *,
        unavailable,
        message: "an attribute's type must be AttributeConvertible, or Codable, Sendable and Equatable"
    )
    public var kept: RefusedCoding { self }
}

/// Rejects an optional of an optional, whose inner nil would be read back as nil.
public struct RefusedOptionalCoding<Coding: Sendable>: UniqueCoding, Sendable {
    let coding: Coding

    /// Makes the compiler report this as the only error.
    @available(
        *,
        unavailable,
        message: "an optional of an optional would be read back as nil where it holds nil: declare it optional once"
    )
    public var kept: Coding { coding }
}

/// Rejects a model as an attribute, which would be stored as a copy that changes of the record do not reach.
public struct RefusedModelCoding<Coding: Sendable>: UniqueCoding, Sendable {
    let coding: Coding

    /// Makes the compiler report this as the only error.
    @available(
        *,
        unavailable,
        message: "a model is not an attribute but the target of a relationship: write @ToOne before it"
    )
    public var kept: Coding { coding }
}

/// Rejects several models as an attribute.
public struct RefusedModelsCoding<Coding: Sendable>: UniqueCoding, Sendable {
    let coding: Coding

    /// Makes the compiler report this as the only error.
    @available(
        *,
        unavailable,
        message: "models are not an attribute but the targets of a relationship: write @ToMany or @ManyToMany before it"
    )
    public var kept: Coding { coding }
}
