import SwiftSyntax
import SwiftSyntaxMacros

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
