import SwiftSyntax
import SwiftSyntaxMacros

/// A property that a record keeps, declared or made for a relationship; or one that it does not keep, with `@Transient`.
struct StoredProperty {
    /// The property, with backticks where it has them.
    var property: String
    var name: String
    var type: AttributeType
    /// What the memberwise initializer takes when it is given nothing; nil for what must be given.
    var initial: String?
    /// What the records of an older version get.
    var schemaDefault: String?
    var options: [String] = []
    var originalName: String?
    var isTransient = false
    /// The declaration of one that is made for a relationship.
    var made: String?
    /// What it may be seen by, as it is written; empty for the usual.
    var access = ""
    /// Where it is declared.
    var place: Syntax
}
