import SwiftSyntax
import SwiftSyntaxMacros

/// `@Model`: generates everything that a `PersistentModel` needs in addition to its properties.
struct ModelMacro: MemberMacro, MemberAttributeMacro, ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let model = ModelReader(declaration, node, context)?.read() else { return [] }
        var members: [DeclSyntax] = []
        if !model.declared.contains("id") { members.append("/// The identity.\n\(raw: model.access)var id: UUID") }
        members += model.attributes.compactMap(\.made).map { "\(raw: $0)" }
        members.append(model.entity)
        if !model.hasInitializer { members.append(model.memberwiseInitializer) }
        return members + [model.reading, model.writing]
    }

    static func expansion(
        of node: AttributeSyntax,
        attachedTo declaration: some DeclGroupSyntax,
        providingAttributesFor member: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
        guard let model = declaration.as(StructDeclSyntax.self), let variable = member.as(VariableDeclSyntax.self),
            let property = ModelReader.keptByType(variable)
        else { return [] }
        if variable.isUnique || model.names(property.name, in: ["Unique"]) { return ["@_KeptByType(isUnique: true)"] }
        let isIndexed = model.names(property.name, in: ["Index", "ClusteringIndex"])
        return [isIndexed ? "@_KeptByType(isIndexed: true)" : "@_KeptByType"]
    }

    static func expansion(
        of node: AttributeSyntax,
        attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol,
        conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard let model = declaration.as(StructDeclSyntax.self), model.genericParameterClause == nil, !protocols.isEmpty
        else {
            return []
        }
        return [try ExtensionDeclSyntax("extension \(type.trimmed): PersistentModel {}")]
    }
}

/// `@Attribute`, `@Unique` and `@Transient`: markers for `@Model`, which generate nothing themselves.
struct AttributeMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        if context.model == nil {
            context.report("@\(node.name) works in a struct with @Model only", at: node)
        } else if !declaration.is(VariableDeclSyntax.self) {
            context.report("@\(node.name) belongs to a property", at: node)
        }
        return []
    }
}

/// `@ToOne`, `@ToMany` and `@ManyToMany`: the getter that reads the relationship, and its description, so that the compiler reports
/// errors at the attribute.
struct RelationshipMacro: AccessorMacro, PeerMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let model = context.model, let variable = declaration.as(VariableDeclSyntax.self),
            let relationship = RelationshipSyntax(variable, reportingTo: nil)
        else {
            // `@Model` or the other role of this macro reports the error.
            return ["get { preconditionFailure() }"]
        }
        let keyPath = "\\\(model.name.text).\(relationship.property)"
        switch relationship.kind {
        case .toOne: return ["get { RelationshipScope.one(\(raw: keyPath), \(raw: relationship.attribute ?? "")) }"]
        case .owner: return ["get { RelationshipScope.linked(\(raw: keyPath), \(raw: relationship.attribute ?? "")) }"]
        case .toMany, .inverseOfOwner: return ["get { RelationshipScope.many(\(raw: keyPath), of: id) }"]
        }
    }

    static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let model = context.model else {
            context.report("@\(node.name) works in a struct with @Model only", at: node)
            return []
        }
        guard let variable = declaration.as(VariableDeclSyntax.self),
            let relationship = RelationshipSyntax(variable, reportingTo: nil)
        else { return [] }
        let root = "\\\(model.name.text)."
        let function: String
        switch relationship.kind {
        case .toOne: function = "toOne"
        case .toMany: function = "toMany"
        case .owner, .inverseOfOwner: function = "manyToMany"
        }
        var arguments = ["\"\(relationship.name)\"", root + relationship.property]
        if let attribute = relationship.attribute { arguments.append("through: \(root)\(attribute)") }
        if let inverse = relationship.inverse { arguments.append("inverse: \(inverse.trimmedDescription)") }
        if let rule = relationship.deleteRule { arguments.append("deleteRule: \(rule.trimmedDescription)") }
        return [
            """
            private static var \(raw: relationship.description): RelationshipDescription {
                .\(raw: function)(\(raw: arguments.joined(separator: ", ")))
            }
            """
        ]
    }
}

/// `#Index`, `#ClusteringIndex` and `#Unique`: markers for `@Model`, which generate nothing themselves.
struct IndexMacro: DeclarationMacro {
    static func expansion(
        of node: some FreestandingMacroExpansionSyntax,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        if context.model == nil {
            context.report("#\(node.macroName.text) works in a struct with @Model only", at: node)
        }
        return []
    }
}

/// `@_KeptByType`: the coding of a property whose type a macro cannot know. The compiler chooses it, and reports errors at the
/// property.
struct CodingMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let property = declaration.as(VariableDeclSyntax.self).flatMap(ModelReader.keptByType) else { return [] }
        let type = property.type.isOptional ? "(\(property.type.text))" : property.type.text
        let use = node.argument("isUnique") != nil ? ".unique" : node.argument("isIndexed") != nil ? ".indexed" : ""
        // Two statements: in one, the compiler would avoid the coding that reports an error.
        return [
            """
            private static let \(raw: AttributeType.coding(property.name)) = {
                let coding = ModelCoding.of(\(raw: type).self)
                return coding\(raw: use).kept
            }()
            """
        ]
    }
}
