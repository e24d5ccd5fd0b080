import SwiftSyntax

/// A model as it was declared.
struct ModelSyntax {
    enum Member {
        case attribute(StoredProperty)
        case relationship(RelationshipSyntax)
    }

    let name: String
    /// `public `, `package `, or nothing.
    let access: String
    /// The entity's name, as a literal; nil for the struct's.
    let entityName: String?
    let originalName: String?
    /// The identifier, where it is declared.
    var identifier: StoredProperty?
    /// In their order; what stores a relationship follows it, unless it is declared elsewhere.
    var members: [Member] = []
    /// The names of all declared properties that keep a value, also of those that something is wrong with: none is made beside them.
    var declared: Set<String> = []
    /// Whether the struct has an initializer of its own, and so needs none.
    var hasInitializer = false
    var indexes: [String] = []
    var combinations: [String] = []

    /// The properties but for the identifier, also those that no record keeps.
    var stored: [StoredProperty] {
        members.compactMap { if case .attribute(let property) = $0 { property } else { nil } }
    }

    /// What a record keeps, but for the identifier.
    var attributes: [StoredProperty] { stored.filter { !$0.isTransient } }

    var relationships: [RelationshipSyntax] {
        members.compactMap { if case .relationship(let relationship) = $0 { relationship } else { nil } }
    }

    /// The attribute of a name.
    func attribute(_ name: String) -> StoredProperty? {
        name == "id" ? identifier ?? attributes.first : attributes.first { $0.name == name }
    }
}
