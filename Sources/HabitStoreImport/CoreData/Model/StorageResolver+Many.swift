import HabitStore

extension StorageResolver {
    mutating func resolveRelationship(_ position: Int, _ place: Int, _ model: inout CoreDataModel) {
        let entity = model.entities[position]
        var relationship = entity.relationships[place]
        guard relationship.isToMany else { return }
        let destination = model.entity(relationship.destination)
        let inverse = relationship.inverse.flatMap { destination?.relationship($0) }
        if let inverse, inverse.isToMany {
            resolveTable(&relationship, inverse, model)
        } else if case .column(let column, _)? = inverse?.storage {
            relationship.storage = .otherSide(column: column)
        } else if relationship.inverse == nil, let destination, let owner = model.entity(relationship.declaredIn) {
            let column = "Z\(owner.number)\(relationship.name.uppercased())"
            let found = tables.columns[destination.table, default: []].first { $0.name.isNumbered(column) }
            if let found { relationship.storage = .otherSide(column: found.name) }
        }
        if case .otherSide(let column) = relationship.storage, let destination {
            let order = "Z_FOK_\(column.dropFirst())"
            if tables.has(order, in: destination.table) { relationship.orderColumn = order }
        }
        if relationship.storage == .missing, relationship.declaredIn == entity.name {
            oddities.append(
                CoreDataOddity(
                    destination == nil ? "destinationElsewhere" : "relationshipMissing",
                    destination == nil
                        ? "\(entity.name).\(relationship.name) leads to \(relationship.destination), which is not in the file"
                        : "where \(entity.name).\(relationship.name) is kept was not found",
                    entity: entity.name,
                    property: relationship.name
                )
            )
        }
        model.entities[position].relationships[place] = relationship.ordered()
    }

    mutating func resolveTable(
        _ relationship: inout CoreDataRelationship,
        _ inverse: CoreDataRelationship,
        _ model: CoreDataModel
    ) {
        guard let here = model.entity(relationship.declaredIn)?.number,
            let there = model.entity(inverse.declaredIn)?.number
        else { return }
        let isReflexive = relationship.name == inverse.name && here == there
        let wanted = (
            here: isReflexive ? "REFLEXIVE" : "Z_\(here)\(inverse.name.uppercased())",
            there: "Z_\(there)\(relationship.name.uppercased())"
        )
        var found: [(score: Int, storage: CoreDataRelationship.Storage, order: String?)] = []
        for (table, columns) in tables.columns where table.hasPrefix("Z_") {
            let names = columns.map(\.name)
            for left in names where left.isNumbered(wanted.here) {
                for right in names where right != left && right.isNumbered(wanted.there) {
                    let score = (left == wanted.here ? 2 : 0) + (right == wanted.there ? 1 : 0)
                    let order = "Z_FOK_\(right.dropFirst(2))"
                    found.append(
                        (score, .table(table, here: left, there: right), names.contains(order) ? order : nil)
                    )
                }
            }
        }
        guard let best = found.map(\.score).max() else { return }
        let chosen = found.filter { $0.score == best }
        relationship.storage = chosen[0].storage
        relationship.orderColumn = chosen[0].order
        guard chosen.count > 1 else { return }
        oddities.append(
            CoreDataOddity(
                "tableUncertain",
                "\(chosen.count) tables could keep \(relationship.declaredIn).\(relationship.name)",
                entity: relationship.declaredIn,
                property: relationship.name,
                count: chosen.count
            )
        )
    }
}

extension CoreDataRelationship {
    /// The relationship, marked as ordered if the file stores an order.
    fileprivate func ordered() -> CoreDataRelationship {
        guard orderColumn != nil, !isOrdered else { return self }
        var copy = CoreDataRelationship(
            name: name,
            destination: destination,
            inverse: inverse,
            isToMany: isToMany,
            isOrdered: true,
            isOptional: isOptional,
            deleteRule: deleteRule,
            declaredIn: declaredIn,
            isGuessed: isGuessed
        )
        copy.storage = storage
        copy.orderColumn = orderColumn
        return copy
    }
}
