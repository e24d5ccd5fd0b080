extension Schema {
    /// Refuses two entities whose names differ by upper and lower case alone, or not at all.
    static func requireDifferentEntities(_ entities: [EntityDescription]) throws(HabitStoreError) {
        var names: Set<String> = []
        for entity in entities where !names.insert(entity.name.lowercased()).inserted {
            throw HabitStoreError(
                .schemaMismatch,
                "two entities are named \(entity.name), which upper and lower case do not tell apart; rename one of them",
                at: .init(entity: entity.name)
            )
        }
    }

    /// Refuses names that not every engine accepts, and names that an engine would confuse.
    ///
    /// Entities without a Swift type come from an existing store, and are accepted unchanged.
    static func requireNames(_ entities: [EntityDescription]) throws(HabitStoreError) {
        // The subject of each table or database, by its name.
        var tables: [String: String] = [:]
        var databases: [String: String] = [:]
        for entity in entities where !entity.isUntyped {
            if let problem = ModelNames.problem(ofEntity: entity.name) {
                throw HabitStoreError(
                    .schemaMismatch,
                    "the name of the entity \(entity.name.quotedForFilter) \(problem); give its EntityDescription another one"
                        + renaming,
                    at: .init(entity: entity.name)
                )
            }
            try requirePropertyNames(of: entity)
            for name in ModelNames.tables(of: entity) {
                try take(name, as: name.lowercased(), of: entity, &tables)
            }
            for name in ModelNames.databases(of: entity) {
                try take(name, as: name, of: entity, &databases)
                guard name.utf8.count <= ModelNames.longestIndex, !name.hasSuffix(ModelNames.clusteringMark) else {
                    throw HabitStoreError(
                        .schemaMismatch,
                        "the names of an index of \(entity.name) and its attributes are longer than "
                            + "\(ModelNames.longestIndex) bytes, or end in \"\(ModelNames.clusteringMark)\"; shorten them",
                        at: .init(entity: entity.name)
                    )
                }
            }
        }
    }

    private static let renaming = ", and say what it was called in a migration by originalName"

    private static func take(
        _ name: String,
        as key: String,
        of entity: EntityDescription,
        _ taken: inout [String: String]
    ) throws(HabitStoreError) {
        guard let other = taken.updateValue(entity.name, forKey: key) else { return }
        throw HabitStoreError(
            .schemaMismatch,
            "\(entity.name) and \(other) both need a table or an index that is called \(name); "
                + "rename an entity or an attribute\(renaming)",
            at: .init(entity: entity.name)
        )
    }

    private static func requirePropertyNames(of entity: EntityDescription) throws(HabitStoreError) {
        try requireNames(entity.attributes.map(\.name), "attribute", of: entity)
        try requireNames(entity.relationships.map(\.name), "relationship", of: entity)
        for relationship in entity.relationships
        where relationship.isToOne && entity.attributes.contains(where: { $0.name == relationship.name }) {
            throw HabitStoreError(
                .schemaMismatch,
                "\(entity.name) has an attribute and a relationship that are both called \(relationship.name), so that "
                    + "`\(relationship.name) == nil` has two meanings; call the attribute \(relationship.name)ID\(renaming)",
                at: .init(entity: entity.name, attribute: relationship.name)
            )
        }
    }

    private static func requireNames(
        _ names: [String],
        _ kind: String,
        of entity: EntityDescription
    ) throws(HabitStoreError) {
        var taken: [String: String] = [:]
        for name in names {
            if let problem = ModelNames.problem(of: name) {
                throw HabitStoreError(
                    .schemaMismatch,
                    "the name of the \(kind) \(name.quotedForFilter) of \(entity.name) \(problem); "
                        + "give it another one\(renaming)",
                    at: .init(entity: entity.name, attribute: name)
                )
            }
            guard let other = taken.updateValue(name, forKey: name.lowercased()) else { continue }
            let difference =
                other == name
                ? "two \(kind)s that are called \(name)"
                : "the \(kind)s \(other) and \(name), which differ by upper and lower case alone"
            throw HabitStoreError(
                .schemaMismatch,
                "\(entity.name) has \(difference); rename one of them\(renaming)",
                at: .init(entity: entity.name, attribute: name)
            )
        }
    }
}
