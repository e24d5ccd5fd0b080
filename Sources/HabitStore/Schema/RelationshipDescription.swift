/// What happens to the records on the other side when a record is deleted.
public enum DeleteRule: String, Sendable, Hashable, Codable {
    /// They are deleted too.
    case cascade
    /// Their reference becomes nil, their link is removed.
    case nullify
    /// The deletion is refused while there are any.
    case deny
    /// The references stay unchanged, and may dangle.
    case noAction
}

/// A relationship as one side declares it. The reference itself is a stored attribute: on this side or on the other.
public struct RelationshipDescription: Sendable {
    /// How the records are tied together.
    public enum Kind: Sendable, Hashable {
        /// This side stores a reference in the attribute.
        case toOne(attribute: String)
        /// The other side stores a reference to this one; `inverse` is its to-one relationship.
        case toMany
        /// This side stores the links in the attribute.
        case manyToManyOwner(attribute: String)
        /// The other side stores the links; `inverse` is its relationship.
        case manyToManyInverse
    }

    /// The name, the word in filters.
    public let name: String
    /// How the records are tied together.
    public internal(set) var kind: Kind
    /// The name of the entity on the other side. Of a relationship that is declared by key paths it is the type's name, until a
    /// schema gives it the entity's.
    public internal(set) var destination: String
    /// The name of the relationship on the other side, if it has one. Of a relationship that is declared by key paths it is nil
    /// until a schema gives it the name.
    public internal(set) var inverse: String?
    /// What happens to the other side when a record of this side is deleted.
    public let deleteRule: DeleteRule
    /// The model's computed key path, by which predicates follow the relationship.
    public let keyPath: any AnyKeyPath & Sendable
    /// The key paths that declared it; nil if names did.
    var typed: Typed?

    /// Whether it leads to at most one record.
    public var isToOne: Bool {
        if case .toOne = kind { return true }
        return false
    }

    /// Declares a reference to at most one record, stored in the attribute `through`.
    public static func toOne<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, D?> & Sendable,
        through attribute: String,
        destination: String,
        inverse: String?,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        RelationshipDescription(
            name: name,
            kind: .toOne(attribute: attribute),
            destination: destination,
            inverse: inverse,
            deleteRule: deleteRule,
            keyPath: keyPath
        )
    }

    /// Declares the many records that refer to this one by their to-one relationship `inverse`.
    public static func toMany<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, [D]> & Sendable,
        destination: String,
        inverse: String,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        RelationshipDescription(
            name: name,
            kind: .toMany,
            destination: destination,
            inverse: inverse,
            deleteRule: deleteRule,
            keyPath: keyPath
        )
    }

    /// Declares the owning side of a many-to-many relationship, whose links are stored in the attribute `through`, or,
    /// without one, the inverse side.
    public static func manyToMany<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, [D]> & Sendable,
        through attribute: String? = nil,
        destination: String,
        inverse: String?,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        RelationshipDescription(
            name: name,
            kind: attribute.map { .manyToManyOwner(attribute: $0) } ?? .manyToManyInverse,
            destination: destination,
            inverse: inverse,
            deleteRule: deleteRule,
            keyPath: keyPath
        )
    }
}
