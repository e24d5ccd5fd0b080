import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// An error in a declaration, in one line.
struct ModelFault: DiagnosticMessage {
    let message: String
    var diagnosticID: MessageID { MessageID(domain: "HabitStoreMacros", id: "model") }
    var severity: DiagnosticSeverity { .error }
}

/// The fix-it for an error.
struct ModelMending: FixItMessage {
    let message: String
    var fixItID: MessageID { MessageID(domain: "HabitStoreMacros", id: "mending") }
}

extension MacroExpansionContext {
    /// Reports an error at a place in the source and, if `mending` is given, a fix-it with a title and the node that takes the
    /// place of `replaced`.
    func report(
        _ message: String,
        at node: some SyntaxProtocol,
        mending: (title: String, replaced: Syntax, by: Syntax)? = nil
    ) {
        var fixIts: [FixIt] = []
        if let mending {
            fixIts.append(
                FixIt(
                    message: ModelMending(message: mending.title),
                    changes: [.replace(oldNode: mending.replaced, newNode: mending.by)]
                )
            )
        }
        diagnose(Diagnostic(node: node, message: ModelFault(message: message), fixIts: fixIts))
    }
}

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

extension ModelReader {
    /// The attributes that customize how a property is stored.
    private static let words = Set(
        RelationshipSyntax.attributeNames + ["Attribute", "Unique", "Transient", "JSONAttribute"]
    )

    /// Rejects stored properties and their attributes inside `#if`: a macro cannot know which conditions hold, and two builds of an
    /// app must not have different forms of one schema version.
    func refuseConditions(_ members: MemberBlockItemListSyntax, isConditional: Bool = false) {
        for member in members {
            if let condition = member.decl.as(IfConfigDeclSyntax.self) {
                for clause in condition.clauses {
                    guard case .decls(let members) = clause.elements else { continue }
                    refuseConditions(members, isConditional: true)
                }
            } else if let variable = member.decl.as(VariableDeclSyntax.self) {
                refuseConditions(variable, isConditional)
            } else if isConditional, let macro = member.decl.as(MacroExpansionDeclSyntax.self),
                Self.indexMacros.contains(macro.macroName.text)
            {
                refuse("#\(macro.macroName.text)", at: macro)
            }
        }
    }

    private func refuseConditions(_ variable: VariableDeclSyntax, _ isConditional: Bool) {
        let isKept = !variable.isStatic && variable.bindings.contains(where: \.isStored)
        if isConditional, isKept || variable.attributes.contains(where: { Self.word($0) != nil }) {
            refuse("'\(variable.bindings.first?.pattern.trimmedDescription ?? "")'", at: variable)
        }
        for case .ifConfigDecl(let condition) in variable.attributes {
            if let word = Self.word(.ifConfigDecl(condition)) { refuse("@\(word.name)", at: word) }
        }
    }

    private func refuse(_ what: String, at node: some SyntaxProtocol) {
        context.report(
            "@Model cannot see what is inside of #if: \(what) would be left out; move it out, the same for every build",
            at: node
        )
    }

    /// The first of our attributes in an element of a list, including inside its conditions.
    private static func word(_ element: AttributeListSyntax.Element) -> AttributeSyntax? {
        switch element {
        case .attribute(let attribute): return words.contains(attribute.name) ? attribute : nil
        case .ifConfigDecl(let condition):
            for clause in condition.clauses {
                guard case .attributes(let attributes) = clause.elements else { continue }
                if let word = attributes.lazy.compactMap(word).first { return word }
            }
            return nil
        }
    }
}
