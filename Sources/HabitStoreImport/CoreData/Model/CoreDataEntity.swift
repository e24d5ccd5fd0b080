/// An entity: one kind of record. The entities of one inheritance share a table.
public struct CoreDataEntity: Sendable, Hashable, Encodable {
    /// The name.
    public let name: String
    /// Its number in this file (`Z_ENT`); another version of the model may number otherwise.
    public let number: Int
    /// The entity that it inherits from.
    public let superentity: String?
    /// The topmost entity of the inheritance, or itself.
    public let root: String
    /// Whether it has no records of its own.
    public let isAbstract: Bool
    /// The app's class.
    public let className: String?
    /// The table.
    public let table: String
    /// The attributes that are stored, inherited ones included.
    public internal(set) var attributes: [CoreDataAttribute]
    /// The relationships, inherited ones included.
    public internal(set) var relationships: [CoreDataRelationship]
    /// The groups of attributes whose values are unique together.
    public let uniqueness: [[String]]
    /// Attributes and properties that are not stored: transient and fetched ones.
    public let notStored: [String]

    /// The attribute of a name.
    public func attribute(_ name: String) -> CoreDataAttribute? { attributes.first { $0.name == name } }

    /// The column of an attribute or a to-one relationship; nil where it has none.
    func column(of property: String) -> String? {
        if let attribute = attribute(property) { return attribute.column }
        guard case .column(let column, _)? = relationship(property)?.storage else { return nil }
        return column
    }

    /// The relationship of a name.
    public func relationship(_ name: String) -> CoreDataRelationship? { relationships.first { $0.name == name } }
}
