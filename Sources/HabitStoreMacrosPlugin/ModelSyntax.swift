import SwiftSyntax

/// A declared model.
struct ModelSyntax {
    enum Member {
        case attribute(StoredProperty)
        case relationship(RelationshipSyntax)
    }

    let name: String
    /// `public `, `package ` or empty.
    let access: String
    /// The entity's name as a literal; nil for the struct's.
    let entityName: String?
    let originalName: String?
    /// The identifier, if it is declared.
    var identifier: StoredProperty?
    /// The members in order; an attribute that stores a relationship follows it, unless it is declared elsewhere.
    var members: [Member] = []
    /// The names of all declared stored properties, including those with errors: no attribute with such a name is generated.
    var declared: Set<String> = []
    /// Whether the struct declares an initializer, so that none is generated.
    var hasInitializer = false
    var indexes: [String] = []
    var combinations: [String] = []

    /// The properties except the identifier, including transient ones.
    var stored: [StoredProperty] {
        members.compactMap { if case .attribute(let property) = $0 { property } else { nil } }
    }

    /// The stored attributes except the identifier.
    var attributes: [StoredProperty] { stored.filter { !$0.isTransient } }

    var relationships: [RelationshipSyntax] {
        members.compactMap { if case .relationship(let relationship) = $0 { relationship } else { nil } }
    }

    /// The attribute with a name.
    func attribute(_ name: String) -> StoredProperty? {
        name == "id" ? identifier ?? attributes.first : attributes.first { $0.name == name }
    }
}
