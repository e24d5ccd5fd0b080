/// One relationship of an ``EntityShape``.
@_spi(Engines) public struct RelationshipShape: Sendable, Hashable, Codable {
    /// How the records are tied together; see ``RelationshipDescription/Kind``.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// This side stores a reference.
        case toOne
        /// The other side stores a reference to this one.
        case toMany
        /// This side stores the links.
        case manyToManyOwner
        /// The other side stores the links.
        case manyToManyInverse
    }

    /// The name.
    public var name: String
    /// How the records are tied together.
    public var kind: Kind
    /// The attribute of this side that stores the reference or the links; nil where the other side does.
    public var attribute: String?
    /// The name of the entity on the other side.
    public var destination: String
    /// The name of the relationship on the other side, if it has one.
    public var inverse: String?
    /// What happens to the other side when a record of this side is deleted.
    public var deleteRule: DeleteRule

    /// Makes a shape.
    public init(
        name: String,
        kind: Kind,
        attribute: String? = nil,
        destination: String,
        inverse: String? = nil,
        deleteRule: DeleteRule = .nullify
    ) {
        (self.name, self.kind, self.attribute) = (name, kind, attribute)
        (self.destination, self.inverse, self.deleteRule) = (destination, inverse, deleteRule)
    }

    /// The shape of a declared relationship.
    public init(_ relationship: RelationshipDescription) {
        (kind, attribute) =
            switch relationship.kind {
            case .toOne(let attribute): (.toOne, attribute)
            case .toMany: (.toMany, nil)
            case .manyToManyOwner(let attribute): (.manyToManyOwner, attribute)
            case .manyToManyInverse: (.manyToManyInverse, nil)
            }
        name = relationship.name
        destination = relationship.destination
        inverse = relationship.inverse
        deleteRule = relationship.deleteRule
    }

    /// The declaration; a reference or links without their attribute lead to none, so that the schema is refused.
    var descriptionKind: RelationshipDescription.Kind {
        switch kind {
        case .toOne: return .toOne(attribute: attribute ?? "")
        case .toMany: return .toMany
        case .manyToManyOwner: return .manyToManyOwner(attribute: attribute ?? "")
        case .manyToManyInverse: return .manyToManyInverse
        }
    }
}
