import SwiftSyntax
import SwiftSyntaxMacros

extension ModelReader {
    /// Names must differ in more than case, because case does not matter in SQLite's columns and in filters.
    func requireDistinctNames(_ model: ModelSyntax) {
        var seen = ["id": "id"]
        for member in model.members {
            let (name, place): (String, Syntax)
            switch member {
            case .attribute(let property):
                if property.isTransient { continue }
                (name, place) = (property.name, property.place)
            case .relationship(let relationship):
                (name, place) = (relationship.name, Syntax(relationship.variable.bindings))
            }
            if let other = seen[name.lowercased()] {
                context.report(
                    other == name
                        ? "'\(name)' is declared twice"
                        : "'\(name)' and '\(other)' differ in case only, which stores do not tell apart",
                    at: place
                )
            }
            seen[name.lowercased()] = name
            if ReservedNames.forbids(member: name) {
                context.report("'\(name)' is a name that the store needs for itself; choose another", at: place)
            }
        }
    }

    /// Two relationships of a model cannot have the same inverse: each record on the other side leads to only one of them.
    func requireDistinctInverses(_ model: ModelSyntax) {
        var seen: Set<String> = []
        for relationship in model.relationships {
            guard let inverse = relationship.inverse else { continue }
            if !seen.insert(inverse.trimmedDescription).inserted {
                context.report(
                    "\(inverse.trimmedDescription) is the inverse of another relationship already",
                    at: inverse
                )
            }
        }
    }

    func requireName(_ literal: String) {
        let name = literal.filter { $0 != "\"" }
        guard name.isEmpty || ReservedNames.forbids(entity: name) else { return }
        let place = node.argument("name").map(Syntax.init) ?? Syntax(declaration.name)
        context.report(
            "'\(name)' is a name that the store needs for itself; choose another, or write '@Model(name:)'",
            at: place
        )
    }
}
