import SwiftSyntax

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
