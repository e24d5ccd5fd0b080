import SwiftSyntax
import SwiftSyntaxMacros

/// Reads the declaration of a model, and reports errors in it.
struct ModelReader {
    let context: any MacroExpansionContext
    /// The name of the struct.
    let name: String
    let declaration: StructDeclSyntax
    let node: AttributeSyntax

    /// The reader of a declaration; nil after reporting that it cannot be a model.
    init?(_ declaration: some DeclGroupSyntax, _ node: AttributeSyntax, _ context: any MacroExpansionContext) {
        guard let model = declaration.as(StructDeclSyntax.self) else {
            let keyword = declaration.introducer
            context.report(
                "@Model needs a struct: a model is a value, and '\(keyword.text)' is not one that can be stored",
                at: keyword
            )
            return nil
        }
        if let generic = model.genericParameterClause {
            context.report("a model cannot be generic: a store knows one entity of its name", at: generic)
            return nil
        }
        (self.context, self.declaration, self.node) = (context, model, node)
        name = model.name.text
    }

    /// The model, without the parts for which errors were reported.
    func read() -> ModelSyntax {
        var model = ModelSyntax(
            name: name,
            access: access,
            entityName: literal("name"),
            originalName: literal("originalName")
        )
        for member in declaration.memberBlock.members {
            if let variable = member.decl.as(VariableDeclSyntax.self) {
                read(variable, into: &model)
            } else if let initializer = member.decl.as(InitializerDeclSyntax.self) {
                if initializer.signature.parameterClause.parameters.first?.firstName.text != "row" {
                    model.hasInitializer = true
                }
            }
        }
        refuseConditions(declaration.memberBlock.members)
        makeStoredAttributes(of: &model)
        requireDistinctNames(model)
        requireDistinctInverses(model)
        for member in declaration.memberBlock.members {
            if let macro = member.decl.as(MacroExpansionDeclSyntax.self) { read(macro, into: &model) }
        }
        requireName(model.entityName ?? "\"\(name)\"")
        return model
    }

    /// The access level of generated members: a keyword and a space, or empty.
    private var access: String {
        let words = declaration.modifiers.map(\.name.text)
        return words.first { ["public", "package"].contains($0) }.map { $0 + " " } ?? ""
    }

    private func literal(_ label: String) -> String? {
        guard let argument = node.argument(label), !argument.is(NilLiteralExprSyntax.self) else { return nil }
        if argument.literalText == nil { context.report("the name must be a literal", at: argument) }
        return argument.trimmedDescription
    }

    private func read(_ variable: VariableDeclSyntax, into model: inout ModelSyntax) {
        let isRelationship = RelationshipSyntax.attributeNames.contains { variable.attribute($0) != nil }
        if isRelationship {
            guard let relationship = RelationshipSyntax(variable, reportingTo: context) else { return }
            model.members.append(.relationship(relationship))
            return
        }
        let words = ["Attribute", "Unique", "Transient"].compactMap(variable.attribute)
        guard !variable.isStatic, variable.bindings.contains(where: \.isStored) else {
            for word in words { context.report("@\(word.name) belongs to a stored property", at: word) }
            return
        }
        let patterns = variable.bindings.compactMap { $0.pattern.as(IdentifierPatternSyntax.self) }
        model.declared.formUnion(patterns.map(\.identifier.plainName))
        guard variable.bindings.count == 1, let binding = variable.bindings.first else {
            context.report("a model's properties are declared one by one", at: variable.bindings)
            return
        }
        guard let property = property(variable, binding) else { return }
        if property.name == "id" {
            model.identifier = identifier(property, binding)
        } else {
            model.members.append(.attribute(property))
        }
    }

    /// The declared identifier. It identifies the record, so it has no options and no initial value.
    private func identifier(_ property: StoredProperty, _ binding: PatternBindingSyntax) -> StoredProperty {
        var property = property
        if property.type.text != "UUID" {
            context.report("'id' must be of the type 'UUID'", at: binding.typeAnnotation?.type ?? TypeSyntax("UUID"))
        } else if !property.options.isEmpty || property.isTransient {
            context.report("'id' is already unique and kept in tombstones", at: property.place)
        }
        property.initial = property.initial ?? "UUID()"
        return property
    }

    /// Adds the attributes that store relationships unless they are declared, each after its relationship.
    private func makeStoredAttributes(of model: inout ModelSyntax) {
        let declared = model.declared
        model.members = model.members.flatMap { member -> [ModelSyntax.Member] in
            guard case .relationship(let relationship) = member, let name = relationship.attribute,
                !declared.contains(name)
            else { return [member] }
            let isOne = relationship.kind == .toOne
            let modifiers = relationship.variable.openModifiers
            let property = StoredProperty(
                property: name,
                name: name,
                type: AttributeType(relationship.attributeType),
                initial: isOne ? "nil" : "[]",
                made: """
                    /// The identifier\(isOne ? "" : "s") of ``\(relationship.name)``.
                    \(modifiers)var \(name): \(relationship.attributeType)
                    """,
                access: modifiers,
                place: Syntax(relationship.node)
            )
            return [member, .attribute(property)]
        }
    }
}

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
