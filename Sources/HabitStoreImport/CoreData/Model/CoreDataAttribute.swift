/// An attribute of an entity. A composite is represented by its elements, named `composite.element`.
public struct CoreDataAttribute: Sendable, Hashable, Encodable {
    /// The name; dotted for the elements of composites.
    public let name: String
    /// The type.
    public let type: CoreDataAttributeType
    /// Whether a record may lack a value.
    public let isOptional: Bool
    /// Whether Core Data computes and stores the value.
    public let isDerived: Bool
    /// Whether Core Data may store a large value in a separate file next to the store.
    public let allowsExternalStorage: Bool
    /// The default value in words; nil for none.
    public let defaultValue: String?
    /// The Swift or Objective-C class of a transformable's values.
    public let valueClass: String?
    /// The name of a transformable's transformer.
    public let transformer: String?
    /// The entity that declares it: this one or an ancestor.
    public let declaredIn: String
    /// Whether the type was guessed from the table, because there is no model.
    public let isGuessed: Bool
    /// The column in the entity's table; nil if there is none.
    public internal(set) var column: String?

    /// The column's name without the number that resolves a conflict; for a composite, from the element's name.
    var baseColumn: String {
        "Z" + (name.split(separator: ".").last.map(String.init) ?? name).uppercased()
    }
}
