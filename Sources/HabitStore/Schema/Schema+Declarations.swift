extension Schema {
    /// Refuses declarations that compile but that no store could implement.
    ///
    /// Entities without a Swift type come from an existing store, and are accepted unchanged.
    static func requireDeclarations(_ entities: [EntityDescription]) throws(HabitStoreError) {
        for entity in entities where !entity.isUntyped {
            try requireKinds(of: entity)
            try requireIndexes(of: entity)
            try requireStoredReferences(of: entity)
        }
    }

    /// Refuses key paths that lead elsewhere than the declaration says.
    static func requireProperties(_ entities: [EntityDescription]) throws(HabitStoreError) {
        for entity in entities where !entity.isUntyped {
            try requireOwnProperties(of: entity)
            try requireDistinctProperties(of: entity)
            try requireDestinations(of: entity, entities)
        }
    }

    /// Refuses a model whose description is that of another one.
    static func requireOwnEntity(_ models: [any PersistentModel.Type]) throws(HabitStoreError) {
        for model in models where model.entity.modelType != model {
            let name = model.entity.name
            throw HabitStoreError(
                .schemaMismatch,
                "the entity of the model \(model) is that of \(model.entity.modelType); write EntityDescription(\(model).self, …)",
                at: .init(entity: name)
            )
        }
    }

    private static func contradiction(
        _ entity: EntityDescription,
        _ attribute: String?,
        _ message: String
    ) -> HabitStoreError {
        HabitStoreError(.schemaMismatch, message, at: .init(entity: entity.name, attribute: attribute))
    }

    // MARK: Key paths

    private static func properties(
        of entity: EntityDescription
    ) -> [(name: String, keyPath: any AnyKeyPath & Sendable)] {
        entity.attributes.map { ($0.name, $0.keyPath) } + entity.relationships.map { ($0.name, $0.keyPath) }
    }

    private static func requireOwnProperties(of entity: EntityDescription) throws(HabitStoreError) {
        for (name, keyPath) in properties(of: entity) {
            let root = type(of: keyPath as AnyKeyPath).rootType
            guard root != entity.modelType else { continue }
            throw contradiction(
                entity,
                name,
                "\(entity.name).\(name) is declared by a key path of \(root); write one of \(entity.modelType)"
            )
        }
    }

    private static func requireDistinctProperties(of entity: EntityDescription) throws(HabitStoreError) {
        var taken: [AnyKeyPath: String] = [:]
        // A type with one value takes no room, and adjacent properties of such types have the same key path.
        let alike = Set(entity.attributes.filter(\.hasOneValue).map(\.name))
        for (name, keyPath) in properties(of: entity) where !alike.contains(name) {
            guard let other = taken.updateValue(name, forKey: keyPath) else { continue }
            throw contradiction(
                entity,
                name,
                "\(entity.name).\(other) and \(entity.name).\(name) are declared by the same key path, so that a predicate could "
                    + "mean either; declare each by its own property"
            )
        }
    }

    // MARK: Attributes and indexes

    private static func requireKinds(of entity: EntityDescription) throws(HabitStoreError) {
        guard entity.attributes.count <= mostAttributes else {
            throw contradiction(
                entity,
                nil,
                "\(entity.name) has \(entity.attributes.count) attributes, and can have \(mostAttributes)"
            )
        }
        for attribute in entity.attributes {
            let title = "\(entity.name).\(attribute.name)"
            if attribute.kind == .links, attribute.isOptional {
                throw contradiction(
                    entity,
                    attribute.name,
                    "\(title) is optional links, and nil is kept as no links; declare a Set<UUID>"
                )
            }
            if let model = attribute.copiedModel {
                throw contradiction(
                    entity,
                    attribute.name,
                    "\(title) would keep copies of \(model), which no change of those records reaches; declare a relationship"
                )
            }
            if attribute.isOptional, attribute.isOptionalTwice {
                throw contradiction(
                    entity,
                    attribute.name,
                    "\(title) is an optional of an optional, which would be read back as nil where it holds nil; declare it optional once"
                )
            }
            guard attribute.isUnique, attribute.kind == .links || attribute.kind == .strings else { continue }
            throw contradiction(
                entity,
                attribute.name,
                "\(title) is a list and cannot be unique; take .unique from it"
            )
        }
        try requireComparableUniqueness(of: entity)
    }

    /// Refuses what is unique by its JSON. Equal values need not have equal JSON: a set is encoded in any order, and the two Unicode forms
    /// of a text, 0.0 and -0.0 are different bytes.
    private static func requireComparableUniqueness(of entity: EntityDescription) throws(HabitStoreError) {
        let combined = Set(entity.uniqueness.flatMap(\.attributes))
        for attribute in entity.attributes
        where (attribute.isUnique || combined.contains(attribute.name)) && attribute.isJSON {
            throw contradiction(
                entity,
                attribute.name,
                "\(entity.name).\(attribute.name) is kept as JSON, which can differ where values are equal, and cannot be unique, alone or "
                    + "in a combination; keep what is unique as text or a number"
            )
        }
    }

    /// The most columns of one of SQLite's tables.
    static let mostAttributes = 2_000

    private static func requireIndexes(of entity: EntityDescription) throws(HabitStoreError) {
        for index in entity.indexes {
            let title = "the index of \(entity.name) over \(index.attributes.joined(separator: ", "))"
            guard !index.attributes.isEmpty else {
                throw contradiction(entity, nil, "an index of \(entity.name) names no attributes; take it out")
            }
            if let name = index.attributes.enumerated().first(where: { index.attributes[..<$0].contains($1) })?.element
            {
                throw contradiction(entity, name, "\(title) names \(name) twice; name it once")
            }
            let attributes = index.attributes.compactMap { name in entity.attributes.first { $0.name == name } }
            if let list = attributes.first(where: { $0.kind == .strings }) {
                throw contradiction(
                    entity,
                    list.name,
                    "\(title) has \(list.name), which is a list of texts and cannot be indexed; take it out"
                )
            }
            if let opaque = attributes.first(where: \.isOpaque) {
                throw contradiction(
                    entity,
                    opaque.name,
                    "\(title) has \(opaque.name), which is kept as JSON, so that no filter or order can use the index; take it out"
                )
            }
            let links = attributes.filter { $0.kind == .links }
            guard links.count <= 1 else {
                throw contradiction(entity, links[1].name, "\(title) has two attributes of links; declare two indexes")
            }
            guard IndexKeyRoom.textBudget(attributes.map(\.kind)) == nil else { continue }
            throw contradiction(
                entity,
                nil,
                "\(title) has too many attributes for a key of \(IndexKeyRoom.longestKey) bytes; it can have \(IndexKeyRoom.most)"
            )
        }
    }

    // MARK: Relationships

    private static func requireDestinations(
        of entity: EntityDescription,
        _ entities: [EntityDescription]
    ) throws(HabitStoreError) {
        for relationship in entity.relationships {
            guard let destination = entities.first(where: { $0.name == relationship.destination }),
                !destination.isUntyped
            else { continue }
            let expected = destination.propertyType(of: relationship)
            let found = type(of: relationship.keyPath as AnyKeyPath).valueType
            guard found != expected else { continue }
            throw contradiction(
                entity,
                relationship.name,
                "the relationship \(entity.name).\(relationship.name) leads to \(destination.name), and its property is a "
                    + "\(found); make it a \(expected), or name the entity that it leads to"
            )
        }
    }

    private static func requireStoredReferences(of entity: EntityDescription) throws(HabitStoreError) {
        var taken: [String: String] = [:]
        for relationship in entity.relationships {
            let title = "the relationship \(entity.name).\(relationship.name)"
            switch relationship.kind {
            case .toMany, .manyToManyInverse: continue
            case .toOne(let attribute), .manyToManyOwner(let attribute):
                guard attribute != "id" else {
                    throw contradiction(
                        entity,
                        relationship.name,
                        "\(title) is stored in the identifier; declare a separate attribute for it"
                    )
                }
                guard let other = taken.updateValue(relationship.name, forKey: attribute) else { continue }
                throw contradiction(
                    entity,
                    relationship.name,
                    "\(title) is stored in \(attribute), and so is \(other); each needs its own attribute"
                )
            }
        }
    }
}

extension EntityDescription {
    /// The type of a property that leads to records of this entity.
    fileprivate func propertyType(of relationship: RelationshipDescription) -> any Any.Type {
        func type<M: PersistentModel>(_ model: M.Type) -> any Any.Type {
            relationship.isToOne ? M?.self : [M].self
        }
        return type(modelType)
    }
}
