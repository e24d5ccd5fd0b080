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
