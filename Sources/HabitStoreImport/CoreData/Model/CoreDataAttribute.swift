/// An attribute of an entity. The elements of a composite stand for it, under `composite.element`.
public struct CoreDataAttribute: Sendable, Hashable, Encodable {
    /// The name; dotted for the elements of composites.
    public let name: String
    /// The type.
    public let type: CoreDataAttributeType
    /// Whether a record may be without a value.
    public let isOptional: Bool
    /// Whether Core Data computes it (and stores what it computed).
    public let isDerived: Bool
    /// Whether Core Data may keep a large value in a file of its own beside the store.
    public let allowsExternalStorage: Bool
    /// The value of a new record, in words; nil for none.
    public let defaultValue: String?
    /// The Swift or Objective-C class of a transformable's values.
    public let valueClass: String?
    /// The name of a transformable's transformer.
    public let transformer: String?
    /// The entity that declares it: this one, or one that it inherits from.
    public let declaredIn: String
    /// Whether the type is a guess from the table, for want of a model.
    public let isGuessed: Bool
    /// The column in the entity's table; nil where there is none.
    public internal(set) var column: String?

    /// The name of the column before a number was added to tell it from others: of a composite, by its element.
    var baseColumn: String {
        "Z" + (name.split(separator: ".").last.map(String.init) ?? name).uppercased()
    }
}
