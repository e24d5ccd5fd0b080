import SwiftSyntax
import SwiftSyntaxMacros

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
