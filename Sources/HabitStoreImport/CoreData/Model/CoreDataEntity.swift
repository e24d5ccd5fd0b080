/// An entity: a type of record. Entities of one inheritance tree share a table.
public struct CoreDataEntity: Sendable, Hashable, Encodable {
    /// The name.
    public let name: String
    /// The entity's number in this file (`Z_ENT`); other versions of the model may use other numbers.
    public let number: Int
    /// The entity it inherits from.
    public let superentity: String?
    /// The root of its inheritance tree, which may be the entity itself.
    public let root: String
    /// Whether it has no records.
    public let isAbstract: Bool
    /// The app's class.
    public let className: String?
    /// The table.
    public let table: String
    /// The stored attributes, including inherited ones.
    public internal(set) var attributes: [CoreDataAttribute]
    /// The relationships, including inherited ones.
    public internal(set) var relationships: [CoreDataRelationship]
    /// The groups of attributes that are unique together.
    public let uniqueness: [[String]]
    /// Properties that are not stored: transient attributes and fetched properties.
    public let notStored: [String]

    /// The attribute with a name.
    public func attribute(_ name: String) -> CoreDataAttribute? { attributes.first { $0.name == name } }

    /// The column of an attribute or a to-one relationship; nil if it has none.
    func column(of property: String) -> String? {
        if let attribute = attribute(property) { return attribute.column }
        guard case .column(let column, _)? = relationship(property)?.storage else { return nil }
        return column
    }

    /// The relationship with a name.
    public func relationship(_ name: String) -> CoreDataRelationship? { relationships.first { $0.name == name } }
}
