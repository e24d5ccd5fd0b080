import SwiftSyntax
import SwiftSyntaxMacros

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
