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
