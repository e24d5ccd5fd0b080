import SwiftSyntax
import SwiftSyntaxMacros

extension ModelReader {
    static let indexMacros = ["Index", "ClusteringIndex", "Unique"]

    /// Reads `#Index`, `#ClusteringIndex` and `#Unique`.
    func read(_ macro: MacroExpansionDeclSyntax, into model: inout ModelSyntax) {
        let kind = macro.macroName.text
        guard Self.indexMacros.contains(kind) else { return }
        if kind == "ClusteringIndex",
            macro.arguments.count > 1 || model.indexes.contains(where: { $0.hasSuffix(".clustering()") })
        {
            context.report("a model has one clustering index at most: it holds a copy of each record", at: macro)
            return
        }
        if let root = macro.genericArgumentClause?.arguments.first?.argument.trimmedDescription, root != name,
            root != "Self"
        {
            context.report("the key paths must be of \(name)", at: macro)
            return
        }
        for argument in macro.arguments {
            guard let paths = keyPaths(argument.expression, kind, model) else { continue }
            let list = paths.joined(separator: ", ")
            switch kind {
            case "Index": model.indexes.append(".index(\(list))")
            case "ClusteringIndex": model.indexes.append(".index(\(list)).clustering()")
            default: model.combinations.append(".unique(\(list))")
            }
        }
    }

    /// The key paths of `[\.notebookID, \.title]`, with their root; nil after reporting an error.
    private func keyPaths(_ expression: ExprSyntax, _ kind: String, _ model: ModelSyntax) -> [String]? {
        guard let array = expression.as(ArrayExprSyntax.self), !array.elements.isEmpty else {
            context.report("write the key paths as a list: [\\.\(model.stored.last?.name ?? "name")]", at: expression)
            return nil
        }
        var paths: [String] = []
        for element in array.elements {
            guard let path = element.expression.as(KeyPathExprSyntax.self), path.components.count == 1,
                let component = path.components.first?.component.as(KeyPathPropertyComponentSyntax.self)
            else {
                context.report("write key paths of one step, such as \\.name", at: element.expression)
                return nil
            }
            let property = component.declName.baseName
            guard let attribute = model.attribute(property.plainName) else {
                context.report("'\(property.plainName)' is not a stored attribute of \(name)", at: element.expression)
                return nil
            }
            if attribute.type.isTexts {
                context.report("a list of texts cannot be indexed", at: element.expression)
                return nil
            }
            if attribute.type.isLinks, kind != "Index" {
                context.report(
                    "links cannot be in a \(kind == "Unique" ? "unique combination" : "clustering index")",
                    at: element.expression
                )
                return nil
            }
            let written = "\\\(name).\(property.text)"
            if paths.contains(written) {
                context.report("'\(property.plainName)' is named twice", at: element.expression)
                return nil
            }
            paths.append(written)
        }
        return paths
    }
}
