import SwiftSyntax
import SwiftSyntaxMacros

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
