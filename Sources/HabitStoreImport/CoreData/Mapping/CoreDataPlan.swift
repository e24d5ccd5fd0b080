import HabitStore

/// What an import makes of each entity of a Core Data file: which entity of the target it becomes, and where each attribute
/// of the target comes from.
struct CoreDataPlan {
    /// Where an attribute of the target comes from.
    enum Field: Hashable {
        /// From nowhere: it is nil, or has no links.
        case missing
        /// The value is always this.
        case constant(Value)
        /// The record's identity, by ``IdentityRule``.
        case identity
        /// The record's key in its table.
        case key
        /// The name of the record's entity.
        case entityName
        /// An attribute of the source.
        case attribute(String)
        /// The texts of a list that is stored as JSON in an attribute of the source.
        case texts(String)
        /// The target of a to-one relationship of the source.
        case reference(String)
        /// The key of the target of a to-one relationship whose entity the file does not have.
        case referenceKey(String)
        /// The one that has this record in its relationship to many, which has no inverse: by the column on this side.
        case owner(column: String, root: String)
        /// A number from a column: the place in an ordered relationship.
        case number(column: String)
        /// The targets of a relationship to many that has a table of its own.
        case links(String)
        /// The same in their order, as texts.
        case linkOrder(String)
    }

    /// What becomes of the records of one entity.
    struct Entity {
        let source: CoreDataEntity
        /// The position of the entity in the target's schema.
        let target: Int
        /// Where each of the target's attributes comes from, in their order.
        let fields: [Field]
    }

    /// The target's entities.
    let schema: Schema
    /// The entities that are brought over, by their numbers.
    let entities: [Entity]
    /// For each root entity that has one, the attribute whose UUIDs are the identities.
    let identities: [String: String]
    /// Where the target keeps what it knows of its source; nil in a schema that was not derived.
    let source: Int?
    /// What is not brought over as it is, by name.
    let oddities: [CoreDataOddity]

    /// The plan for an entity of the source.
    func entity(number: Int) -> Entity? { entities.first { $0.source.number == number } }
}
