import SwiftSyntax
import SwiftSyntaxMacros

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
