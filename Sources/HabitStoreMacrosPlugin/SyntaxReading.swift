import SwiftSyntax
import SwiftSyntaxMacros

extension VariableDeclSyntax {
    /// The attribute with a name, such as `Attribute` or `ToMany`.
    func attribute(_ name: String) -> AttributeSyntax? { attributes(name).first }

    /// The attributes with a name; there should be one at most.
    func attributes(_ name: String) -> [AttributeSyntax] {
        attributes.compactMap { $0.as(AttributeSyntax.self) }.filter { $0.name == name }
    }

    /// Whether its attributes require unique values.
    var isUnique: Bool {
        let options = attributes("Attribute").flatMap(\.labeledArguments).filter { $0.label == nil }
        return attribute("Unique") != nil || options.contains { $0.expression.trimmedDescription.contains(".unique") }
    }

    /// Whether it is a type property.
    var isStatic: Bool {
        modifiers.contains { ["static", "class"].contains($0.name.text) }
    }

    /// Its access level and other modifiers, except the access level of its setter.
    var openModifiers: String {
        modifiers.filter { $0.detail == nil }.map { $0.trimmedDescription + " " }.joined()
    }
}

extension StructDeclSyntax {
    /// Whether one of the freestanding macros, such as `#Unique`, names the property.
    func names(_ property: String, in macros: Set<String>) -> Bool {
        memberBlock.members.compactMap { $0.decl.as(MacroExpansionDeclSyntax.self) }
            .filter { macros.contains($0.macroName.text) }
            .flatMap(\.arguments)
            .flatMap { $0.expression.as(ArrayExprSyntax.self).map { Array($0.elements) } ?? [] }
            .compactMap { $0.expression.as(KeyPathExprSyntax.self)?.components.last?.component }
            .contains { $0.as(KeyPathPropertyComponentSyntax.self)?.declName.baseName.plainName == property }
    }
}

extension PatternBindingSyntax {
    /// Whether it is stored: it has no accessors except observers.
    var isStored: Bool {
        guard let accessorBlock else { return true }
        guard case .accessors(let accessors) = accessorBlock.accessors else { return false }
        return accessors.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
    }
}

extension AttributeSyntax {
    /// The name without a module.
    var name: String {
        attributeName.as(MemberTypeSyntax.self)?.name.text ?? attributeName.trimmedDescription
    }

    /// The arguments; empty without parentheses.
    var labeledArguments: [LabeledExprSyntax] {
        guard case .argumentList(let list) = arguments else { return [] }
        return Array(list)
    }

    /// The argument with a label.
    func argument(_ label: String) -> ExprSyntax? {
        labeledArguments.first { $0.label?.text == label }?.expression
    }
}

extension ExprSyntax {
    /// The text of a string literal without interpolation.
    var literalText: String? { self.as(StringLiteralExprSyntax.self)?.representedLiteralValue }
}

extension TokenSyntax {
    /// An identifier's name without backticks.
    var plainName: String { identifier?.name ?? text }
}

extension MacroExpansionContext {
    /// The struct with `@Model` that the expanded declaration is directly in, or nil.
    var model: StructDeclSyntax? {
        guard let model = lexicalContext.first?.as(StructDeclSyntax.self) else { return nil }
        let isModel = model.attributes.contains { $0.as(AttributeSyntax.self)?.name == "Model" }
        return isModel ? model : nil
    }
}
