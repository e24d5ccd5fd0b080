import SwiftSyntax
import SwiftSyntaxBuilder

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
