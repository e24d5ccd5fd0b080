import Foundation

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

/// Relationships that are declared by key paths: the compiler checks where they lead and what stores them. The side that stores
/// nothing names the other one; the side that stores the reference need not, and gets the inverse that names it.
extension RelationshipDescription {
    /// The key paths of a declaration, and the type that it leads to.
    struct Typed: Sendable {
        let destination: any PersistentModel.Type
        /// The stored attribute on this side.
        var attribute: (any AnyKeyPath & Sendable)?
        /// The relationship on the other side; nil to let the schema find it.
        var inverse: (any AnyKeyPath & Sendable)?
    }

    /// Declares a reference to at most one record, stored in the attribute `through`:
    /// `.toOne("notebook", \Note.notebook, through: \Note.notebookID)`.
    ///
    /// - Parameter inverse: the relationship on the other side; without one it is the one there that names this one, if any does.
    public static func toOne<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, D?> & Sendable,
        through attribute: any KeyPath<M, UUID?> & Sendable,
        inverse: (any KeyPath<D, [M]> & Sendable)? = nil,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        typed(name, keyPath, D.self, .toOne(attribute: ""), attribute, inverse, deleteRule)
    }

    /// Declares a reference to exactly one record, stored in the attribute `through`, which is never nil.
    public static func toOne<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, D?> & Sendable,
        through attribute: any KeyPath<M, UUID> & Sendable,
        inverse: (any KeyPath<D, [M]> & Sendable)? = nil,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        typed(name, keyPath, D.self, .toOne(attribute: ""), attribute, inverse, deleteRule)
    }

    /// Declares the many records that refer to this one by their to-one relationship `inverse`:
    /// `.toMany("notes", \Notebook.notes, inverse: \Note.notebook, deleteRule: .cascade)`.
    public static func toMany<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, [D]> & Sendable,
        inverse: any KeyPath<D, M?> & Sendable,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        typed(name, keyPath, D.self, .toMany, nil, inverse, deleteRule)
    }

    /// Declares the owning side of a many-to-many relationship, whose links are stored in the attribute `through`.
    ///
    /// - Parameter inverse: the relationship on the other side; without one it is the one there that names this one, if any does.
    public static func manyToMany<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, [D]> & Sendable,
        through attribute: any KeyPath<M, Set<UUID>> & Sendable,
        inverse: (any KeyPath<D, [M]> & Sendable)? = nil,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        typed(name, keyPath, D.self, .manyToManyOwner(attribute: ""), attribute, inverse, deleteRule)
    }

    /// Declares the inverse side of a many-to-many relationship, whose links the relationship `inverse` stores.
    public static func manyToMany<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, [D]> & Sendable,
        inverse: any KeyPath<D, [M]> & Sendable,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        typed(name, keyPath, D.self, .manyToManyInverse, nil, inverse, deleteRule)
    }

    /// Says what is wrong with an attribute that cannot store a reference.
    @available(*, unavailable, message: "a reference is stored in an attribute of the type 'UUID?' or 'UUID'")
    @_disfavoredOverload
    public static func toOne<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, D?> & Sendable,
        through attribute: AnyKeyPath,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        typed(name, keyPath, D.self, .toOne(attribute: ""), nil, nil, deleteRule)
    }

    /// Says what is wrong with an attribute that cannot store links.
    @available(*, unavailable, message: "links are stored in an attribute of the type 'Set<UUID>'")
    @_disfavoredOverload
    public static func manyToMany<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, [D]> & Sendable,
        through attribute: AnyKeyPath,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        typed(name, keyPath, D.self, .manyToManyOwner(attribute: ""), nil, nil, deleteRule)
    }

    /// Says what is wrong with an inverse that does not lead back.
    @available(
        *,
        unavailable,
        message: "the inverse must be a to-one relationship of the destination that leads to this model"
    )
    @_disfavoredOverload
    public static func toMany<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, [D]> & Sendable,
        inverse: AnyKeyPath,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        typed(name, keyPath, D.self, .toMany, nil, nil, deleteRule)
    }

    /// Says what is wrong with an inverse that does not lead back.
    @available(
        *,
        unavailable,
        message: "the inverse must be a to-many relationship of the destination that leads to this model"
    )
    @_disfavoredOverload
    public static func manyToMany<M: PersistentModel, D: PersistentModel>(
        _ name: String,
        _ keyPath: any KeyPath<M, [D]> & Sendable,
        inverse: AnyKeyPath,
        deleteRule: DeleteRule = .nullify
    ) -> RelationshipDescription {
        typed(name, keyPath, D.self, .manyToManyInverse, nil, nil, deleteRule)
    }

    private static func typed<D: PersistentModel>(
        _ name: String,
        _ keyPath: any AnyKeyPath & Sendable,
        _ destination: D.Type,
        _ kind: Kind,
        _ attribute: (any AnyKeyPath & Sendable)?,
        _ inverse: (any AnyKeyPath & Sendable)?,
        _ deleteRule: DeleteRule
    ) -> RelationshipDescription {
        var relationship = RelationshipDescription(
            name: name,
            kind: kind,
            destination: String(describing: destination),
            inverse: nil,
            deleteRule: deleteRule,
            keyPath: keyPath
        )
        relationship.typed = Typed(destination: destination, attribute: attribute, inverse: inverse)
        return relationship
    }

    /// The relationship with its stored attribute's name. A key path that leads to none of the attributes keeps its own
    /// description, which no attribute has, so that the schema is refused.
    func named(by attributes: [AttributeDescription]) -> RelationshipDescription {
        guard let keyPath = typed?.attribute else { return self }
        let name = attributes.first { $0.keyPath as AnyKeyPath == keyPath as AnyKeyPath }?.name ?? "\(keyPath)"
        var relationship = self
        switch kind {
        case .toOne: relationship.kind = .toOne(attribute: name)
        case .manyToManyOwner: relationship.kind = .manyToManyOwner(attribute: name)
        case .toMany, .manyToManyInverse: break
        }
        return relationship
    }
}
