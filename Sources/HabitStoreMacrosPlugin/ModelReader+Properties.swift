import SwiftSyntax
import SwiftSyntaxMacros

extension ModelReader {
    /// A declared stored property; nil after reporting an error.
    func property(_ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax) -> StoredProperty? {
        guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
            context.report("a model's properties are declared one by one", at: binding.pattern)
            return nil
        }
        let name = pattern.identifier.plainName
        if name == "self" {
            context.report(
                "'self' cannot name a property of a model: a key path to it is the record itself",
                at: pattern
            )
            return nil
        }
        let isTransient = variable.attribute("Transient") != nil
        guard isFree(of: ["lazy", "weak", "unowned"], variable), isVariable(variable, name),
            hasNoWrapper(variable, name), hasNoAttributeTwice(variable, name)
        else { return nil }
        let initial = binding.initializer.map { InitialValue(expression: $0.value) }
        guard let type = type(binding, initial, name).map(AttributeType.init) else { return nil }
        var property = StoredProperty(
            property: pattern.identifier.text,
            name: name,
            type: type,
            initial: initial?.text,
            isTransient: isTransient,
            access: variable.openModifiers,
            place: Syntax(pattern)
        )
        if property.initial == nil, type.isOptional { property.initial = "nil" }
        if isTransient { return transient(property, variable) }
        guard isConstant(initial, type, variable, binding), isOptionalOnce(type, binding) else { return nil }
        if let initial, !initial.isNil { property.schemaDefault = initial.text(as: type) }
        return options(of: property, variable)
    }

    /// The name and type of a stored attribute whose type a macro cannot know; nil for any other property.
    static func keptByType(_ variable: VariableDeclSyntax) -> (name: String, type: AttributeType)? {
        let words = RelationshipSyntax.attributeNames + ["Transient", "JSONAttribute"]
        guard !variable.isStatic, variable.bindings.count == 1, let binding = variable.bindings.first, binding.isStored,
            let pattern = binding.pattern.as(IdentifierPatternSyntax.self),
            !words.contains(where: { variable.attribute($0) != nil }),
            let written = binding.typeAnnotation?.type
                ?? binding.initializer.flatMap({ InitialValue(expression: $0.value).type })
        else { return nil }
        let (name, type) = (pattern.identifier.plainName, AttributeType(written))
        return type.isKnown || name == "id" ? nil : (name, type)
    }

    private func transient(_ property: StoredProperty, _ variable: VariableDeclSyntax) -> StoredProperty? {
        for other in ["Unique", "Attribute"] {
            if let attribute = variable.attribute(other) {
                context.report("@\(other) has no meaning for a property that no record keeps", at: attribute)
                return nil
            }
        }
        guard property.initial != nil else {
            context.report(
                "'\(property.name)' needs an initial value: no record keeps it, so every record that is read begins with it",
                at: property.place
            )
            return nil
        }
        return property
    }

    private func options(of property: StoredProperty, _ variable: VariableDeclSyntax) -> StoredProperty? {
        var property = property
        if variable.attribute("Unique") != nil { property.options.append(".unique") }
        for argument in variable.attribute("Attribute")?.labeledArguments ?? [] {
            switch argument.label?.text {
            case "originalName":
                guard argument.expression.literalText != nil else {
                    context.report("the name must be a literal", at: argument.expression)
                    return nil
                }
                property.originalName = argument.expression.trimmedDescription
            case "initial":
                property.initial = argument.expression.trimmedDescription
            default:
                let option = argument.expression.trimmedDescription
                if !property.options.contains(option) { property.options.append(option) }
            }
        }
        if property.type.isLinks || property.type.isTexts, property.options.contains(".unique") {
            context.report("a list cannot be unique", at: property.place)
            return nil
        }
        return property
    }

    // MARK: Errors

    private func isFree(of words: Set<String>, _ variable: VariableDeclSyntax) -> Bool {
        guard let modifier = variable.modifiers.first(where: { words.contains($0.name.text) }) else { return true }
        context.report("a model's property cannot be '\(modifier.name.text)'", at: modifier)
        return false
    }

    private func isVariable(_ variable: VariableDeclSyntax, _ name: String) -> Bool {
        guard variable.bindingSpecifier.tokenKind == .keyword(.let) else { return true }
        var mended = variable.bindingSpecifier
        mended.tokenKind = .keyword(.var)
        context.report(
            "'\(name)' must be a 'var': a record is changed by changing its model",
            at: variable.bindingSpecifier,
            mending: ("use 'var'", Syntax(variable.bindingSpecifier), Syntax(mended))
        )
        return false
    }

    private func hasNoWrapper(_ variable: VariableDeclSyntax, _ name: String) -> Bool {
        guard let wrapper = variable.attribute("JSONAttribute") else { return true }
        var mended = variable
        mended.attributes = variable.attributes.filter { $0.as(AttributeSyntax.self)?.name != "JSONAttribute" }
        mended.leadingTrivia = variable.leadingTrivia
        context.report(
            "@JSONAttribute is not needed: a 'Codable' property of a model is kept as JSON",
            at: wrapper,
            mending: ("remove '@JSONAttribute'", Syntax(variable), Syntax(mended))
        )
        return false
    }

    /// Each attribute is read once, so a second one would have no effect.
    private func hasNoAttributeTwice(_ variable: VariableDeclSyntax, _ name: String) -> Bool {
        for word in ["Attribute", "Unique", "Transient"] {
            let nodes = variable.attributes(word)
            guard nodes.count > 1 else { continue }
            let arguments = nodes.flatMap(\.labeledArguments)
            let ordered = [nil, "originalName", "initial"].flatMap { label in
                arguments.filter { $0.label?.text == label }.map { $0.with(\.trailingComma, nil).trimmedDescription }
            }
            let one = "@\(word)" + (ordered.isEmpty ? "" : "(\(ordered.joined(separator: ", ")))")
            context.report("'\(name)' has @\(word) twice, of which one would be read; write one \(one)", at: nodes[1])
            return false
        }
        return true
    }

    private func isOptionalOnce(_ type: AttributeType, _ binding: PatternBindingSyntax) -> Bool {
        guard let inside = type.optionalInside else { return true }
        context.report(
            "an optional of an optional would be read back as nil where it holds nil; write '\(inside)'",
            at: binding.typeAnnotation.map { Syntax($0.type) } ?? Syntax(binding)
        )
        return false
    }

    private func type(_ binding: PatternBindingSyntax, _ initial: InitialValue?, _ name: String) -> TypeSyntax? {
        if let written = binding.typeAnnotation?.type { return written }
        if let type = initial?.type { return type }
        var mended = binding
        mended.pattern = binding.pattern.with(\.trailingTrivia, [])
        mended.typeAnnotation = TypeAnnotationSyntax(
            colon: .colonToken(trailingTrivia: .space),
            type: IdentifierTypeSyntax(name: .identifier("<#Type#>")),
            trailingTrivia: .space
        )
        context.report(
            "the type of '\(name)' cannot be inferred from its initial value; write 'var \(name): Type'",
            at: binding.pattern,
            mending: ("write the type", Syntax(binding), Syntax(mended))
        )
        return nil
    }

    private func isConstant(
        _ initial: InitialValue?,
        _ type: AttributeType,
        _ variable: VariableDeclSyntax,
        _ binding: PatternBindingSyntax
    ) -> Bool {
        guard let initial, initial.isFresh(as: type) else { return true }
        let fresh =
            initial.expression.as(MemberAccessExprSyntax.self)?.base == nil
                && initial.expression.is(MemberAccessExprSyntax.self) ? "\(type.wrapped)\(initial.text)" : initial.text
        let name = binding.pattern.trimmedDescription
        let text = "@Attribute(initial: \(fresh)) \(variable.openModifiers)var \(name): \(type.text)"
        var mended = DeclSyntax("\(raw: text)")
        mended.leadingTrivia = variable.leadingTrivia
        mended.trailingTrivia = variable.trailingTrivia
        context.report(
            "the initial value of '\(name)' differs each time: it cannot be the schema's default, and would be made for "
                + "every record that is read; write '@Attribute(initial: \(fresh)) var \(name): \(type.text)'",
            at: initial.expression,
            mending: variable.attribute("Attribute") == nil
                ? ("move it into '@Attribute(initial:)'", Syntax(variable), Syntax(mended)) : nil
        )
        return false
    }
}
