import SwiftSyntax

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
