import SwiftSyntax
import SwiftSyntaxMacros

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
