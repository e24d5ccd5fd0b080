import HabitStore

/// Which other records may change with a record, without the source's history telling of them: a link is kept on one side
/// and may be told of on the other; so is the place in an order, and a relationship to many without an inverse.
struct CompanionRules {
    /// How the companions of a record are found.
    struct Rule {
        /// Finds the keys of those that the source has now; the record's key is the parameter.
        let keys: String
        /// The table of these.
        let table: String
        /// The position of their entity in the target.
        let target: Int
        /// The attribute of the target in which they lead to the record.
        let attribute: String
        /// Whether it has links, and not one reference.
        let isLinks: Bool
        /// Whether the source tells of them but for a deletion.
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

    /// The rules for a change of a record of an entity.
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

    /// The records that lead to one that is deleted; and those of an ordered relationship, whose places are in a column of
    /// theirs.
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
