import SwiftSyntax
import SwiftSyntaxMacros

extension VariableDeclSyntax {
    /// The attribute of a name, such as `Attribute` or `ToMany`.
    func attribute(_ name: String) -> AttributeSyntax? { attributes(name).first }

    /// The attributes of a name, of which there should be one.
    func attributes(_ name: String) -> [AttributeSyntax] {
        attributes.compactMap { $0.as(AttributeSyntax.self) }.filter { $0.name == name }
    }

    /// Whether its attributes say that no two records may have the same value.
    var isUnique: Bool {
        let options = attributes("Attribute").flatMap(\.labeledArguments).filter { $0.label == nil }
        return attribute("Unique") != nil || options.contains { $0.expression.trimmedDescription.contains(".unique") }
    }

    /// Whether it belongs to the type.
    var isStatic: Bool {
        modifiers.contains { ["static", "class"].contains($0.name.text) }
    }

    /// Its access and whatever else is written before `var`, but for the access of its setter.
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
    /// Whether it keeps a value: it has no accessors, or observers alone.
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

    /// The arguments; none where there are no parentheses.
    var labeledArguments: [LabeledExprSyntax] {
        guard case .argumentList(let list) = arguments else { return [] }
        return Array(list)
    }

    /// The argument of a label.
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
