import SwiftSyntax
import SwiftSyntaxMacros

/// A relationship that a property declares.
struct RelationshipSyntax {
    enum Kind {
        case toOne, toMany, owner, inverseOfOwner
    }

    static let attributeNames = ["ToOne", "ToMany", "ManyToMany"]

    let kind: Kind
    /// The property, including any backticks.
    let property: String
    let name: String
    /// The property that stores the reference or the links; nil if the other side stores them.
    let attribute: String?
    /// The key path of the other side as written; nil if this side stores.
    let inverse: ExprSyntax?
    let deleteRule: ExprSyntax?
    let variable: VariableDeclSyntax
    let node: AttributeSyntax

    /// The relationship of a property; nil if it has none, or after reporting an error to `context`.
    init?(_ variable: VariableDeclSyntax, reportingTo context: (any MacroExpansionContext)?) {
        let nodes = variable.attributes.compactMap { $0.as(AttributeSyntax.self) }
            .filter { Self.attributeNames.contains($0.name) }
        guard let node = nodes.first, let binding = variable.bindings.first,
            let pattern = binding.pattern.as(IdentifierPatternSyntax.self),
            // Otherwise the compiler reports the missing argument.
            node.name != "ToMany" || node.argument("inverse") != nil
        else { return nil }
        let fault = Self.fault(variable, binding, nodes)
        if let fault {
            context?.report(fault.message, at: fault.node)
            return nil
        }
        (property, name) = (pattern.identifier.text, pattern.identifier.plainName)
        (self.variable, self.node) = (variable, node)
        inverse = node.argument("inverse")
        deleteRule = node.argument("deleteRule")
        switch node.name {
        case "ToOne": kind = .toOne
        case "ToMany": kind = .toMany
        default: kind = inverse == nil ? .owner : .inverseOfOwner
        }
        let own = node.argument("through")?.literalText
        switch kind {
        case .toOne: attribute = own ?? "\(name)ID"
        case .owner: attribute = own ?? Self.singular(name) + "IDs"
        case .toMany, .inverseOfOwner: attribute = nil
        }
    }

    private static func fault(
        _ variable: VariableDeclSyntax,
        _ binding: PatternBindingSyntax,
        _ nodes: [AttributeSyntax]
    ) -> (message: String, node: Syntax)? {
        let node = nodes[0]
        for other in ["Unique", "Attribute", "Transient"] {
            guard let attribute = variable.attribute(other) else { continue }
            let stored =
                node.name == "ToOne"
                ? "; declare what stores it: '@\(other) var \(binding.pattern.trimmedDescription)ID: UUID?'" : ""
            return ("@\(other) cannot be on a relationship\(stored)", Syntax(attribute))
        }
        if nodes.count > 1 { return ("a property is one relationship, not several", Syntax(nodes[1])) }
        if variable.isStatic { return ("a relationship belongs to a record and cannot be static", Syntax(variable)) }
        if variable.bindingSpecifier.tokenKind == .keyword(.let) {
            return ("a relationship must be a 'var': it is read from the store", Syntax(variable.bindingSpecifier))
        }
        if let initializer = binding.initializer {
            return ("a relationship has no initial value: it is read from the store", Syntax(initializer))
        }
        if let accessors = binding.accessorBlock {
            return ("a relationship's accessors are made by @\(node.name)", Syntax(accessors))
        }
        if let through = node.argument("through"), through.literalText == nil, !through.is(NilLiteralExprSyntax.self) {
            return ("the name must be a literal: the macro makes a property of it", Syntax(through))
        }
        if let through = node.argument("through"), through.literalText == "id" {
            return ("a relationship cannot be stored in the identifier; name a separate attribute", Syntax(through))
        }
        guard let type = binding.typeAnnotation?.type else {
            return ("a relationship needs its type: 'Other?' or '[Other]'", Syntax(binding.pattern))
        }
        let isOptional = type.is(OptionalTypeSyntax.self) || type.trimmedDescription.hasPrefix("Optional<")
        let isArray = type.is(ArrayTypeSyntax.self) || type.trimmedDescription.hasPrefix("Array<")
        if node.name == "ToOne", !isOptional {
            return ("a to-one relationship must be optional: the record may be gone", Syntax(type))
        }
        if node.name != "ToOne", !isArray {
            return ("a to-many relationship must be an array", Syntax(type))
        }
        return nil
    }

    /// The singular of an English plural, derived from its ending.
    private static func singular(_ name: String) -> String {
        if name.hasSuffix("ies") { return name.dropLast(3) + "y" }
        if ["sses", "xes", "ches", "shes"].contains(where: name.hasSuffix) { return String(name.dropLast(2)) }
        return name.hasSuffix("s") && !name.hasSuffix("ss") ? String(name.dropLast()) : name
    }

    /// The type of the stored property.
    var attributeType: TypeSyntax { kind == .toOne ? "UUID?" : "Set<UUID>" }

    /// The description's name.
    var description: String { "_relationship_\(name)" }
}
