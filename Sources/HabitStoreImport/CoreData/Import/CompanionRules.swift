import HabitStore

/// Finds records that may change along with another record without an entry in the source's history: a link is stored on one side and may
/// be recorded on the other; the same holds for the place in an order and for a to-many relationship without an inverse.
struct CompanionRules {
    /// How to find a record's companions.
    struct Rule {
        /// The SQL query for the keys of the companions in the source; its parameter is the record's key.
        let keys: String
        let table: String
        /// The index of their entity in the target.
        let target: Int
        /// The target's attribute that leads from a companion to the record.
        let attribute: String
        /// Whether the attribute holds links rather than one reference.
        let isLinks: Bool
        /// Whether the rule only applies to deletions: the source records other changes of these companions.
        var isForDeletions = false
    }

    private var rules: [Int: [Rule]] = [:]

    init(_ plan: CoreDataPlan, _ model: CoreDataModel) {
        for entity in plan.entities {
            let attributes = plan.schema.entities[entity.target].attributes
            for (attribute, field) in zip(attributes, entity.fields) {
                switch field {
                case .links(let name): addLinks(name, attribute.name, entity, model)
                case .owner(let column, let root):
                    for owner in model.entities where owner.root == root {
                        add(column, attribute.name, entity, to: owner)
                    }
                case .reference(let name): addReference(name, attribute.name, entity, model)
                default: break
                }
            }
        }
    }

    func rules(for number: Int, _ kind: CoreDataChange.Kind) -> [Rule] {
        (rules[number] ?? []).filter { kind == .delete || !$0.isForDeletions }
    }

    private mutating func addLinks(
        _ name: String,
        _ attribute: String,
        _ entity: CoreDataPlan.Entity,
        _ model: CoreDataModel
    ) {
        guard let relationship = entity.source.relationship(name), relationship.declaredIn == entity.source.name,
            case .table(let table, let here, let there) = relationship.storage, here != "REFLEXIVE"
        else { return }
        let names = (SourceConnection.quoted(table), SourceConnection.quoted(here), SourceConnection.quoted(there))
        let rule = Rule(
            keys: "SELECT \(names.1) FROM \(names.0) WHERE \(names.2) = ?1",
            table: entity.source.table,
            target: entity.target,
            attribute: attribute,
            isLinks: true
        )
        let root = model.entity(relationship.destination)?.root
        for other in model.entities where other.root == root { rules[other.number, default: []].append(rule) }
    }

    /// Adds the rules for records that refer to a deleted one, and for records of an ordered relationship, which store their own place.
    private mutating func addReference(
        _ name: String,
        _ attribute: String,
        _ entity: CoreDataPlan.Entity,
        _ model: CoreDataModel
    ) {
        guard let relationship = entity.source.relationship(name), relationship.declaredIn == entity.source.name,
            case .column(let column, _) = relationship.storage,
            let destination = model.entity(relationship.destination)
        else { return }
        let inverse = relationship.inverse.flatMap { destination.relationship($0) }
        for owner in model.entities where owner.root == destination.root {
            add(column, attribute, entity, to: owner, isForDeletions: inverse?.orderColumn == nil)
        }
    }

    private mutating func add(
        _ column: String,
        _ attribute: String,
        _ entity: CoreDataPlan.Entity,
        to owner: CoreDataEntity,
        isForDeletions: Bool = false
    ) {
        let (name, table) = (SourceConnection.quoted(column), SourceConnection.quoted(entity.source.table))
        let sql = "SELECT Z_PK FROM \(table) WHERE \(name) = ?1"
        if rules[owner.number]?.contains(where: { $0.keys == sql && $0.attribute == attribute }) == true { return }
        rules[owner.number, default: []].append(
            Rule(
                keys: sql,
                table: entity.source.table,
                target: entity.target,
                attribute: attribute,
                isLinks: false,
                isForDeletions: isForDeletions
            )
        )
    }
}
