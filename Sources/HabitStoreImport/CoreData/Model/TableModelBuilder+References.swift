import HabitStore

extension TableModelBuilder {
    /// Guesses a reference from an integer column: it must have its own index, as Core Data creates for each reference, and lead to records
    /// of only one entity, or of the entity it is named after.
    func guessReference(
        _ column: StoreTables.Column,
        _ root: CoreDataEntity,
        _ model: CoreDataModel,
        _ owner: String
    ) throws -> CoreDataRelationship? {
        guard column.declaredType == "INTEGER" else { return nil }
        let partner = tables.columns[root.table, default: []].first { other in
            other.name.hasSuffix("_\(column.name.dropFirst())") && other.name.dropFirst().first?.isNumber == true
        }
        let number = partner.flatMap { Int($0.name.dropFirst().prefix { $0.isNumber }) }
        var destination = number.flatMap { model.entity(number: $0) }
        if destination == nil {
            let index = "\(root.table)_\(column.name)_INDEX"
            guard
                try !connection.texts("SELECT name FROM sqlite_master WHERE type = 'index' AND name = '\(index)'")
                    .isEmpty
            else { return nil }
            destination = try guessDestination(column.name, root, model)
        }
        guard let destination else { return nil }
        var relationship = CoreDataRelationship(
            name: column.name.dropFirst().lowercased(),
            destination: destination.name,
            inverse: nil,
            isToMany: false,
            isOrdered: false,
            isOptional: true,
            deleteRule: "nullify",
            declaredIn: owner,
            isGuessed: true
        )
        relationship.storage = .column(column.name, entityColumn: partner?.name)
        return relationship
    }

    func guessDestination(
        _ column: String,
        _ root: CoreDataEntity,
        _ model: CoreDataModel
    ) throws -> CoreDataEntity? {
        let word = column.dropFirst()
        let roots = model.entities.filter { $0.superentity == nil }
        if let same = model.entities.first(where: { $0.name.uppercased() == word }) { return same }
        let named = model.entities.filter { $0.name.uppercased().hasSuffix(word) }
        if named.count == 1 { return named[0] }
        let name = SourceConnection.quoted(column)
        let table = SourceConnection.quoted(root.table)
        guard try connection.int("SELECT 1 FROM \(table) WHERE \(name) NOT NULL LIMIT 1") != nil else { return nil }
        let fitting = try roots.filter { candidate in
            let keys = "SELECT Z_PK FROM \(SourceConnection.quoted(candidate.table))"
            return try connection.int(
                "SELECT 1 FROM \(table) WHERE \(name) NOT NULL AND \(name) NOT IN (\(keys)) LIMIT 1"
            ) == nil
        }
        return fitting.count == 1 ? fitting[0] : nil
    }

    /// Guesses a to-many relationship without an inverse, whose targets store their owner in a column.
    func guessOwner(_ column: String, _ number: Int?, _ root: CoreDataEntity, _ model: inout CoreDataModel) {
        guard let number, let owner = model.entity(number: number) else { return }
        let digits = String(number)
        let name = column.dropFirst(1 + digits.count).lowercased()
        var relationship = Self.toMany(name, root.name, nil, owner.name)
        relationship.storage = .otherSide(column: column)
        let order = "Z_FOK_\(column.dropFirst())"
        if tables.has(order, in: root.table) { relationship.orderColumn = order }
        add(relationship: relationship, declaredIn: owner.name, &model)
    }
}
