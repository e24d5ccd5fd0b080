/// What stands for the coding of a type that cannot be kept, so that the compiler says so.
public struct RefusedCoding: Sendable {
    /// Says what is wrong.
    @available(
        *,
        unavailable,
        message: "an attribute's type must be AttributeConvertible, or Codable, Sendable and Equatable"
    )
    public var kept: RefusedCoding { self }
}
