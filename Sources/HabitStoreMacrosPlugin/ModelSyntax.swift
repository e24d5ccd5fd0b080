import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// A declared model.
struct ModelSyntax {
    enum Member {
        case attribute(StoredProperty)
        case relationship(RelationshipSyntax)
    }

    let name: String
    /// `public `, `package ` or empty.
    let access: String
    /// The entity's name as a literal; nil for the struct's.
    let entityName: String?
    let originalName: String?
    /// The identifier, if it is declared.
    var identifier: StoredProperty?
    /// The members in order; an attribute that stores a relationship follows it, unless it is declared elsewhere.
    var members: [Member] = []
    /// The names of all declared stored properties, including those with errors: no attribute with such a name is generated.
    var declared: Set<String> = []
    /// Whether the struct declares an initializer, so that none is generated.
    var hasInitializer = false
    var indexes: [String] = []
    var combinations: [String] = []

    /// The properties except the identifier, including transient ones.
    var stored: [StoredProperty] {
        members.compactMap { if case .attribute(let property) = $0 { property } else { nil } }
    }

    /// The stored attributes except the identifier.
    var attributes: [StoredProperty] { stored.filter { !$0.isTransient } }

    var relationships: [RelationshipSyntax] {
        members.compactMap { if case .relationship(let relationship) = $0 { relationship } else { nil } }
    }

    /// The attribute with a name.
    func attribute(_ name: String) -> StoredProperty? {
        name == "id" ? identifier ?? attributes.first : attributes.first { $0.name == name }
    }
}

extension ModelSyntax {
    private static let indent = "    "

    /// The static property `entity`.
    var entity: DeclSyntax {
        var parts = ["\(name).self"]
        if let entityName { parts.append("name: \(entityName)") }
        if let originalName { parts.append("originalName: \(originalName)") }
        parts.append(Self.list("attributes", [".id(\\\(name).id)"] + attributes.map(declaration)))
        if !relationships.isEmpty { parts.append(Self.list("relationships", relationships.map(\.description))) }
        if !indexes.isEmpty { parts.append(Self.list("indexes", indexes)) }
        if !combinations.isEmpty { parts.append(Self.list("uniqueness", combinations)) }
        let arguments = parts.map { "\n" + Self.indent + $0 }.joined(separator: ",")
        return """
            /// The declaration.
            \(raw: access)static let entity = EntityDescription(\(raw: arguments)
            )
            """
    }

    private static func list(_ label: String, _ items: [String]) -> String {
        "\(label): [" + items.map { "\n\(indent)\(indent)\($0)," }.joined() + "\n\(indent)]"
    }

    private func declaration(_ attribute: StoredProperty) -> String {
        var arguments = ["\"\(attribute.name)\"", "\\\(name).\(attribute.property)"]
        switch attribute.options.count {
        case 0: break
        case 1: arguments.append(attribute.options[0])
        default: arguments.append("[\(attribute.options.joined(separator: ", "))]")
        }
        if let value = attribute.schemaDefault { arguments.append("default: \(value)") }
        if let original = attribute.originalName { arguments.append("originalName: \(original)") }
        return "\(attribute.type.declaring(attribute.name, of: name))(\(arguments.joined(separator: ", ")))"
    }

    /// The initializer with all properties.
    var memberwiseInitializer: DeclSyntax {
        let id = [("id", "UUID", identifier?.initial ?? "UUID()")] as [(String, String, String?)]
        let all = id + stored.map { ($0.property, $0.type.text, $0.initial) }
        let parameters = all.map { property, type, initial in
            "\n\(Self.indent)\(property): \(type)" + (initial.map { " = \($0)" } ?? "")
        }
        let assignments = all.map { property, _, _ in "\n\(Self.indent)self.\(property) = \(property)" }
        return """
            /// Makes a record.
            \(raw: initializerAccess)init(\(raw: parameters.joined(separator: ","))
            ) {\(raw: assignments.joined())
            }
            """
    }

    /// The struct's access level, unless a property that is less accessible has a type that may be, too.
    private var initializerAccess: String {
        guard !access.isEmpty else { return "" }
        let narrow = stored.filter {
            !$0.type.isKnown && !$0.access.contains("public") && $0.access + " " != access + " "
        }
        return narrow.isEmpty ? access : ""
    }

    /// The initializer that reads a row.
    var reading: DeclSyntax {
        let lines =
            ["self.id = try row.nextUUID()"]
            + attributes.map { "self.\($0.property) = \($0.type.reading($0.name, of: name))" }
        return """
            /// Reads the attributes in their declared order.
            \(raw: access)init(row: inout AttributeReader) throws {
            \(raw: lines.map { Self.indent + $0 }.joined(separator: "\n"))
            }
            """
    }

    /// The method that writes a row.
    var writing: DeclSyntax {
        let lines = ["row.append(self.id)"] + attributes.map { $0.type.writing($0.property, $0.name, of: name) }
        return """
            /// Writes the attributes in their declared order.
            \(raw: access)func write(to row: inout AttributeWriter) throws {
            \(raw: lines.map { Self.indent + $0 }.joined(separator: "\n"))
            }
            """
    }
}

/// A stored property, declared or generated for a relationship, or a transient one with `@Transient`.
struct StoredProperty {
    /// The property, including any backticks.
    var property: String
    var name: String
    var type: AttributeType
    /// The default argument of the memberwise initializer; nil if the value is required.
    var initial: String?
    /// The value that records of an older version get.
    var schemaDefault: String?
    var options: [String] = []
    var originalName: String?
    var isTransient = false
    /// The declaration of a property that is generated for a relationship.
    var made: String?
    /// The access level as written; empty for the default.
    var access = ""
    /// The place of its declaration.
    var place: Syntax
}

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
