/// The entities of a Core Data file.
public struct CoreDataModel: Sendable, Hashable, Encodable {
    /// The source of a model.
    public enum Origin: String, Sendable, Hashable, Codable {
        /// The model that Core Data stores in the file (`Z_MODELCACHE`).
        case modelCache
        /// The names and types of tables and columns, with guesses.
        case tables
    }

    /// The source of the model.
    public let origin: Origin
    /// The entities, by number.
    public internal(set) var entities: [CoreDataEntity]

    /// The entity with a name.
    public func entity(_ name: String) -> CoreDataEntity? { entities.first { $0.name == name } }

    /// The entity with a number.
    public func entity(number: Int) -> CoreDataEntity? { entities.first { $0.number == number } }

    /// An entity and those that inherit from it.
    public func family(of name: String) -> [CoreDataEntity] {
        let children = Dictionary(grouping: entities.filter { $0.superentity != nil }) { $0.superentity }
        var names: Set<String> = [name]
        var rest = [name]
        // In a damaged file, an entity may inherit from itself.
        while let parent = rest.popLast() {
            for child in children[parent] ?? [] where names.insert(child.name).inserted { rest.append(child.name) }
        }
        return entities.filter { names.contains($0.name) }
    }
}

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

/// An attribute's type, with Core Data's raw values (`NSAttributeType`).
public enum CoreDataAttributeType: Int, Sendable, Hashable, Encodable, CaseIterable {
    /// No type was declared.
    case undefined = 0
    /// 16-bit integers.
    case integer16 = 100
    /// 32-bit integers.
    case integer32 = 200
    /// 64-bit integers.
    case integer64 = 300
    /// Decimal numbers, stored as doubles.
    case decimal = 400
    /// Doubles.
    case double = 500
    /// Floats, stored as doubles.
    case float = 600
    /// Text.
    case string = 700
    /// Booleans, stored as 0 and 1.
    case boolean = 800
    /// Dates, stored as seconds since 2001-01-01 00:00:00 UTC.
    case date = 900
    /// Bytes.
    case binary = 1000
    /// UUIDs, stored as 16 bytes.
    case uuid = 1100
    /// URIs, stored as text.
    case uri = 1200
    /// The bytes that the app's value transformer made from an object.
    case transformable = 1800
    /// The identity of an object.
    case objectID = 2000
    /// A group of attributes, each in its own column.
    case composite = 2100

    /// The type's name in messages.
    public var name: String {
        switch self {
        case .uuid: return "UUID"
        case .uri: return "URI"
        default: return "\(self)"
        }
    }

    /// Encodes the name.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }

    /// The column type that Core Data declares; nil if unknown.
    var columnType: String? {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: return "INTEGER"
        case .decimal: return "DECIMAL"
        case .double, .float: return "FLOAT"
        case .string, .uri: return "VARCHAR"
        case .date: return "TIMESTAMP"
        case .binary, .uuid, .transformable: return "BLOB"
        case .undefined, .objectID, .composite: return nil
        }
    }
}

/// A relationship of an entity.
public struct CoreDataRelationship: Sendable, Hashable, Encodable {
    /// Where the file stores a relationship.
    public enum Storage: Sendable, Hashable, Encodable {
        /// In a column of this entity's table; if the target may be of several entities, the second column has its entity's number.
        case column(String, entityColumn: String?)
        /// On the other side, in the column of the inverse or in a column made for the relationship.
        case otherSide(column: String)
        /// In a link table: the column that refers to this side, and the one that refers to the targets.
        case table(String, here: String, there: String)
        /// Not found in the file.
        case missing

        private enum CodingKeys: String, CodingKey { case kind, column, entityColumn, table, here, there }

        /// Encodes `kind` (`column`, `otherSide`, `table`, `missing`) and the names of that kind.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            switch self {
            case .column(let column, let entityColumn):
                try container.encode("column", forKey: .kind)
                try container.encode(column, forKey: .column)
                try container.encodeIfPresent(entityColumn, forKey: .entityColumn)
            case .otherSide(let column):
                try container.encode("otherSide", forKey: .kind)
                try container.encode(column, forKey: .column)
            case .table(let table, let here, let there):
                try container.encode("table", forKey: .kind)
                try container.encode(table, forKey: .table)
                try container.encode(here, forKey: .here)
                try container.encode(there, forKey: .there)
            case .missing: try container.encode("missing", forKey: .kind)
            }
        }
    }

    /// The name.
    public let name: String
    /// The entity of its targets.
    public let destination: String
    /// The name of the inverse relationship.
    public let inverse: String?
    /// Whether it is a to-many relationship.
    public let isToMany: Bool
    /// Whether the targets are ordered.
    public internal(set) var isOrdered: Bool
    /// Whether a record may lack a target.
    public let isOptional: Bool
    /// The delete rule: `noAction`, `nullify`, `cascade` or `deny`.
    public let deleteRule: String
    /// The entity that declares it: this one or an ancestor.
    public internal(set) var declaredIn: String
    /// Whether it was guessed from columns and tables, because there is no model.
    public let isGuessed: Bool
    /// Where the file stores it.
    public internal(set) var storage = Storage.missing
    /// The column with the order of an ordered relationship.
    public internal(set) var orderColumn: String?

    var baseColumn: String { "Z" + name.uppercased() }
}
