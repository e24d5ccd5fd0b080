import HabitStore

/// How an import converts a Core Data file: the target entity of each source entity, and the origin of each of its attributes.
struct CoreDataPlan {
    /// The origin of an attribute of the target.
    enum Field: Hashable {
        /// No origin: the attribute is nil or has no links.
        case missing
        /// A constant.
        case constant(Value)
        /// The record's identity, by ``IdentityRule``.
        case identity
        /// The record's key in its table.
        case key
        /// The name of the record's entity.
        case entityName
        /// An attribute of the source.
        case attribute(String)
        /// The texts of a list stored as JSON in an attribute of the source.
        case texts(String)
        /// The target of a to-one relationship of the source.
        case reference(String)
        /// The key of a to-one relationship's target whose entity is not in the file.
        case referenceKey(String)
        /// The record that has this one in a to-many relationship without an inverse, from the column on this side.
        case owner(column: String, root: String)
        /// A number in a column: the position in an ordered relationship.
        case number(column: String)
        /// The targets of a to-many relationship with its own link table.
        case links(String)
        /// The targets of such a relationship in order, as texts.
        case linkOrder(String)
    }

    /// The conversion of one entity's records.
    struct Entity {
        let source: CoreDataEntity
        /// The index of the entity in the target's schema.
        let target: Int
        /// The origins of the target's attributes, in their order.
        let fields: [Field]
    }

    /// The target's entities.
    let schema: Schema
    /// The imported entities, by number.
    let entities: [Entity]
    /// The attribute whose UUIDs are the identities, by root entity; only for entities that have one.
    let identities: [String: String]
    /// The index of the entity that stores the target's position; nil in a schema that was not derived.
    let source: Int?
    /// Things that the import does not convert unchanged.
    let oddities: [CoreDataOddity]

    func entity(number: Int) -> Entity? { entities.first { $0.source.number == number } }
}
