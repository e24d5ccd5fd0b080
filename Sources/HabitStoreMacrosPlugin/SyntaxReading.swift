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

/// The written type of an attribute, as far as it determines how the attribute is stored.
struct AttributeType {
    /// The type as written.
    let text: String
    /// The non-optional type.
    let wrapped: String
    let isOptional: Bool
    /// If the wrapped type is itself optional, that type as written; nil otherwise.
    let optionalInside: String?

    /// The row reader's name for a type, and whether writing it can throw.
    private static let known: [String: (reader: String, throwing: Bool)] = [
        "Bool": ("Bool", false), "Int": ("Int", false), "Double": ("Double", true), "String": ("String", false),
        "Date": ("Date", true), "UUID": ("UUID", false), "Data": ("Data", false), "[String]": ("Strings", false),
    ]

    init(_ type: TypeSyntax) {
        text = type.trimmedDescription
        let inside = Self.inside(type)
        (wrapped, isOptional) = (Self.plain(inside ?? type), inside != nil)
        let isOptionalInside = inside.map(Self.withoutParentheses).flatMap(Self.inside) != nil
        optionalInside = isOptionalInside ? inside.map { Self.withoutParentheses($0).trimmedDescription } : nil
    }

    /// The type that an optional wraps; nil for any other type.
    private static func inside(_ type: TypeSyntax) -> TypeSyntax? {
        if let optional = type.as(OptionalTypeSyntax.self) { return optional.wrappedType }
        guard let named = type.as(IdentifierTypeSyntax.self), named.name.text == "Optional" else { return nil }
        return named.genericArgumentClause?.arguments.first?.argument.as(TypeSyntax.self)
    }

    private static func withoutParentheses(_ type: TypeSyntax) -> TypeSyntax {
        guard let tuple = type.as(TupleTypeSyntax.self), tuple.elements.count == 1, let only = tuple.elements.first
        else { return type }
        return withoutParentheses(only.type)
    }

    /// Whether it is a set of identifiers of other records.
    var isLinks: Bool { !isOptional && wrapped == "Set<UUID>" }

    /// Whether it is a list of texts, which cannot be sorted.
    var isTexts: Bool { wrapped == "[String]" }

    /// Whether the macro knows the type by its name.
    var isKnown: Bool { isLinks || Self.known[wrapped] != nil }

    /// The expression that reads an attribute of this type.
    func reading(_ name: String, of model: String) -> String {
        if isLinks { return "Set(try row.nextLinks())" }
        guard let known = Self.known[wrapped] else { return "try \(model).\(Self.coding(name)).next(&row)" }
        return "try row.next\(isOptional ? "Optional" : "")\(known.reader)()"
    }

    /// The statement that writes an attribute of this type.
    func writing(_ property: String, _ name: String, of model: String) -> String {
        if isLinks { return "row.append(self.\(property))" }
        guard let known = Self.known[wrapped] else {
            return "try \(model).\(Self.coding(name)).append(self.\(property), to: &row)"
        }
        return "\(known.throwing ? "try " : "")row.append(self.\(property))"
    }

    /// The function that declares an attribute of this type.
    func declaring(_ name: String, of model: String) -> String {
        isKnown ? ".attribute" : "\(model).\(Self.coding(name)).attribute"
    }

    /// The name of the coding for an attribute whose type the macro does not know, and for which the compiler chooses.
    static func coding(_ name: String) -> String { "_coding_\(name)" }

    private static func plain(_ type: TypeSyntax) -> String {
        let text = type.trimmedDescription.replacing("Swift.", with: "").replacing("Foundation.", with: "")
        switch text {
        case "Array<String>": return "[String]"
        default: return text
        }
    }
}

/// A property's initial value: its type, as far as its form shows it, and whether it is the same each time.
struct InitialValue {
    let expression: ExprSyntax

    var text: String { expression.trimmedDescription }

    /// The text for an optional parameter, where `.none` alone would be nil rather than the type's own case.
    func text(as type: AttributeType) -> String {
        guard Self.hasImplicitMember(Syntax(expression)) else { return text }
        return "\(expression.is(SequenceExprSyntax.self) ? "(\(text))" : text) as \(type.text)"
    }

    private static func hasImplicitMember(_ node: Syntax) -> Bool {
        if let member = node.as(MemberAccessExprSyntax.self), member.base == nil { return true }
        return node.children(viewMode: .sourceAccurate).contains(where: hasImplicitMember)
    }

    var isNil: Bool { expression.is(NilLiteralExprSyntax.self) }

    /// The type that the form shows; nil if it does not.
    var type: TypeSyntax? { Self.type(of: expression) }

    private static func type(of expression: ExprSyntax) -> TypeSyntax? {
        if expression.is(StringLiteralExprSyntax.self) { return "String" }
        if expression.is(IntegerLiteralExprSyntax.self) { return "Int" }
        if expression.is(FloatLiteralExprSyntax.self) { return "Double" }
        if expression.is(BooleanLiteralExprSyntax.self) { return "Bool" }
        if let negative = expression.as(PrefixOperatorExprSyntax.self), negative.operator.text == "-" {
            return type(of: negative.expression)
        }
        if let array = expression.as(ArrayExprSyntax.self), !array.elements.isEmpty,
            array.elements.allSatisfy({ $0.expression.is(StringLiteralExprSyntax.self) })
        {
            return "[String]"
        }
        if let call = expression.as(FunctionCallExprSyntax.self) { return named(call.calledExpression) }
        if let member = expression.as(MemberAccessExprSyntax.self), let base = member.base,
            !isType(member.declName.baseName.text)
        {
            return named(base)
        }
        return nil
    }

    /// The type that an expression names: `Settings`, `Trip.Kind`, `[String]`, `Set<UUID>`.
    private static func named(_ expression: ExprSyntax) -> TypeSyntax? {
        let last: String
        if let reference = expression.as(DeclReferenceExprSyntax.self) {
            last = reference.baseName.text
        } else if let member = expression.as(MemberAccessExprSyntax.self), member.base != nil {
            last = member.declName.baseName.text
        } else if let generic = expression.as(GenericSpecializationExprSyntax.self) {
            return named(generic.expression) == nil ? nil : "\(raw: expression.trimmedDescription)"
        } else if let array = expression.as(ArrayExprSyntax.self), array.elements.count == 1,
            let element = array.elements.first, named(element.expression) != nil
        {
            return "\(raw: expression.trimmedDescription)"
        } else {
            return nil
        }
        return isType(last) ? "\(raw: expression.trimmedDescription)" : nil
    }

    private static func isType(_ name: String) -> Bool { name.first?.isUppercase == true }

    /// Whether each evaluation gives a different value, as far as the form shows: the current time, a new identifier, or the result
    /// of a function or a closure, also in a part of it: `[UUID()]`, `"\(Date())"`.
    func isFresh(as type: AttributeType) -> Bool {
        Self.isFresh(expression, as: type.wrapped) || Self.hasFreshPart(Syntax(expression))
    }

    private static func hasFreshPart(_ node: Syntax) -> Bool {
        node.children(viewMode: .sourceAccurate).contains { child in
            // A closure counts only if it is called.
            if child.is(ClosureExprSyntax.self) { return false }
            if let expression = child.as(ExprSyntax.self), isFresh(expression, as: nil) { return true }
            return hasFreshPart(child)
        }
    }

    /// - Parameter type: the type that the expression must have; nil if its position does not determine it.
    private static func isFresh(_ expression: ExprSyntax, as type: String?) -> Bool {
        if let member = expression.as(MemberAccessExprSyntax.self) { return member.declName.baseName.text == "now" }
        guard let call = expression.as(FunctionCallExprSyntax.self) else { return false }
        let called = withoutParentheses(call.calledExpression)
        if called.is(ClosureExprSyntax.self) { return true }
        if let made = typeMade(by: called) ?? type, ["Date", "UUID"].contains(made), isInitializer(called) {
            return call.arguments.isEmpty || call.arguments.first?.label?.text == "timeIntervalSinceNow"
        }
        if let member = called.as(MemberAccessExprSyntax.self) {
            return member.declName.baseName.text != "init" && named(called) == nil && member.base != nil
        }
        if let function = called.as(DeclReferenceExprSyntax.self) { return !isType(function.baseName.text) }
        return false
    }

    private static func withoutParentheses(_ expression: ExprSyntax) -> ExprSyntax {
        guard let tuple = expression.as(TupleExprSyntax.self), tuple.elements.count == 1,
            let only = tuple.elements.first
        else { return expression }
        return withoutParentheses(only.expression)
    }

    /// The type whose initializer is called: `UUID` for `UUID()`, `UUID.init()` and `Foundation.UUID()`.
    private static func typeMade(by called: ExprSyntax) -> String? {
        if let member = called.as(MemberAccessExprSyntax.self), member.declName.baseName.text == "init" {
            return member.base.flatMap(typeMade)
        }
        return named(called)?.trimmedDescription.replacing("Foundation.", with: "")
    }

    /// Whether the call creates a value of the type that it names or, like `.init`, of the expected type.
    private static func isInitializer(_ called: ExprSyntax) -> Bool {
        guard let member = called.as(MemberAccessExprSyntax.self) else { return named(called) != nil }
        return member.base == nil || member.declName.baseName.text == "init" || named(called) != nil
    }
}
