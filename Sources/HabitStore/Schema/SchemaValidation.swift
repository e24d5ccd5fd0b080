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
            throw model.entity.contradiction(
                "the entity of the model \(model) is that of \(model.entity.modelType); write EntityDescription(\(model).self, …)"
            )
        }
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
            throw entity.contradiction(
                "\(entity.name).\(name) is declared by a key path of \(root); write one of \(entity.modelType)",
                at: name
            )
        }
    }

    private static func requireDistinctProperties(of entity: EntityDescription) throws(HabitStoreError) {
        var taken: [AnyKeyPath: String] = [:]
        // A type with one value takes no room, and adjacent properties of such types have the same key path.
        let alike = Set(entity.attributes.filter(\.hasOneValue).map(\.name))
        for (name, keyPath) in properties(of: entity) where !alike.contains(name) {
            guard let other = taken.updateValue(name, forKey: keyPath) else { continue }
            throw entity.contradiction(
                "\(entity.name).\(other) and \(entity.name).\(name) are declared by the same key path, so that a predicate could "
                    + "mean either; declare each by its own property",
                at: name
            )
        }
    }

    // MARK: Attributes and indexes

    private static func requireKinds(of entity: EntityDescription) throws(HabitStoreError) {
        guard entity.attributes.count <= mostAttributes else {
            throw entity.contradiction(
                "\(entity.name) has \(entity.attributes.count) attributes, and can have \(mostAttributes)"
            )
        }
        for attribute in entity.attributes {
            let title = "\(entity.name).\(attribute.name)"
            if attribute.kind == .links, attribute.isOptional {
                throw entity.contradiction(
                    "\(title) is optional links, and nil is kept as no links; declare a Set<UUID>",
                    at: attribute.name
                )
            }
            if let model = attribute.copiedModel {
                throw entity.contradiction(
                    "\(title) would keep copies of \(model), which no change of those records reaches; declare a relationship",
                    at: attribute.name
                )
            }
            if attribute.isOptional, attribute.isOptionalTwice {
                throw entity.contradiction(
                    "\(title) is an optional of an optional, which would be read back as nil where it holds nil; declare it optional once",
                    at: attribute.name
                )
            }
            guard attribute.isUnique, attribute.kind == .links || attribute.kind == .strings else { continue }
            throw entity.contradiction(
                "\(title) is a list and cannot be unique; take .unique from it",
                at: attribute.name
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
            throw entity.contradiction(
                "\(entity.name).\(attribute.name) is kept as JSON, which can differ where values are equal, and cannot be unique, alone or "
                    + "in a combination; keep what is unique as text or a number",
                at: attribute.name
            )
        }
    }

    /// The most columns of one of SQLite's tables.
    static let mostAttributes = 2_000

    private static func requireIndexes(of entity: EntityDescription) throws(HabitStoreError) {
        for index in entity.indexes {
            let title = "the index of \(entity.name) over \(index.attributes.joined(separator: ", "))"
            guard !index.attributes.isEmpty else {
                throw entity.contradiction("an index of \(entity.name) names no attributes; take it out")
            }
            if let name = index.attributes.enumerated().first(where: { index.attributes[..<$0].contains($1) })?.element
            {
                throw entity.contradiction("\(title) names \(name) twice; name it once", at: name)
            }
            let attributes = index.attributes.compactMap { name in entity.attributes.first { $0.name == name } }
            if let list = attributes.first(where: { $0.kind == .strings }) {
                throw entity.contradiction(
                    "\(title) has \(list.name), which is a list of texts and cannot be indexed; take it out",
                    at: list.name
                )
            }
            if let opaque = attributes.first(where: \.isOpaque) {
                throw entity.contradiction(
                    "\(title) has \(opaque.name), which is kept as JSON, so that no filter or order can use the index; take it out",
                    at: opaque.name
                )
            }
            let links = attributes.filter { $0.kind == .links }
            guard links.count <= 1 else {
                throw entity.contradiction(
                    "\(title) has two attributes of links; declare two indexes",
                    at: links[1].name
                )
            }
            guard IndexKeyRoom.textBudget(attributes.map(\.kind)) == nil else { continue }
            throw entity.contradiction(
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
            throw entity.contradiction(
                "the relationship \(entity.name).\(relationship.name) leads to \(destination.name), and its property is a "
                    + "\(found); make it a \(expected), or name the entity that it leads to",
                at: relationship.name
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
                    throw entity.contradiction(
                        "\(title) is stored in the identifier; declare a separate attribute for it",
                        at: relationship.name
                    )
                }
                guard let other = taken.updateValue(relationship.name, forKey: attribute) else { continue }
                throw entity.contradiction(
                    "\(title) is stored in \(attribute), and so is \(other); each needs its own attribute",
                    at: relationship.name
                )
            }
        }
    }
}

extension EntityDescription {
    /// The error for a declaration that no store can implement.
    ///
    /// - Parameter attribute: the attribute or relationship; nil if it is about the entity.
    func contradiction(_ message: String, at attribute: String? = nil) -> HabitStoreError {
        HabitStoreError(.schemaMismatch, message, at: .init(entity: name, attribute: attribute))
    }

    /// The type of a property that leads to records of this entity.
    fileprivate func propertyType(of relationship: RelationshipDescription) -> any Any.Type {
        func type<M: PersistentModel>(_ model: M.Type) -> any Any.Type {
            relationship.isToOne ? M?.self : [M].self
        }
        return type(modelType)
    }
}

extension Schema {
    /// Refuses two entities whose names differ by upper and lower case alone, or not at all.
    static func requireDifferentEntities(_ entities: [EntityDescription]) throws(HabitStoreError) {
        var names: Set<String> = []
        for entity in entities where !names.insert(entity.name.lowercased()).inserted {
            throw entity.contradiction(
                "two entities are named \(entity.name), which upper and lower case do not tell apart; rename one of them"
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
                throw entity.contradiction(
                    "the name of the entity \(entity.name.quotedForFilter) \(problem); give its EntityDescription another one"
                        + renaming
                )
            }
            try requirePropertyNames(of: entity)
            for name in ModelNames.tables(of: entity) {
                try take(name, as: name.lowercased(), of: entity, &tables)
            }
            for name in ModelNames.databases(of: entity) {
                try take(name, as: name, of: entity, &databases)
                guard name.utf8.count <= ModelNames.longestIndex, !name.hasSuffix(ModelNames.clusteringMark) else {
                    throw entity.contradiction(
                        "the names of an index of \(entity.name) and its attributes are longer than "
                            + "\(ModelNames.longestIndex) bytes, or end in \"\(ModelNames.clusteringMark)\"; shorten them"
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
        throw entity.contradiction(
            "\(entity.name) and \(other) both need a table or an index that is called \(name); "
                + "rename an entity or an attribute\(renaming)"
        )
    }

    private static func requirePropertyNames(of entity: EntityDescription) throws(HabitStoreError) {
        try requireNames(entity.attributes.map(\.name), "attribute", of: entity)
        try requireNames(entity.relationships.map(\.name), "relationship", of: entity)
        for relationship in entity.relationships
        where relationship.isToOne && entity.attributes.contains(where: { $0.name == relationship.name }) {
            throw entity.contradiction(
                "\(entity.name) has an attribute and a relationship that are both called \(relationship.name), so that "
                    + "`\(relationship.name) == nil` has two meanings; call the attribute \(relationship.name)ID\(renaming)",
                at: relationship.name
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
                throw entity.contradiction(
                    "the name of the \(kind) \(name.quotedForFilter) of \(entity.name) \(problem); "
                        + "give it another one\(renaming)",
                    at: name
                )
            }
            guard let other = taken.updateValue(name, forKey: name.lowercased()) else { continue }
            let difference =
                other == name
                ? "two \(kind)s that are called \(name)"
                : "the \(kind)s \(other) and \(name), which differ by upper and lower case alone"
            throw entity.contradiction(
                "\(entity.name) has \(difference); rename one of them\(renaming)",
                at: name
            )
        }
    }
}

/// The allowed names of entities, attributes and relationships: one list for all engines, the filter language, and everything that
/// makes models.
///
/// A name that any engine reserves, cannot write or would confuse with another is rejected on every engine when the schema is made:
/// a user must be movable from a store on one engine to every other. Words of the filter language (`count`, `in`, `true`) are
/// allowed, because filters can write them in backquotes.
package enum ModelNames {
    /// The most UTF-8 bytes of a name: with the suffix that LMDB adds to an entity's name, its longest key of 511.
    package static let longest = 494
    /// The most bytes of an index's name, `Entity.first+second`, which is a key of LMDB's.
    package static let longestIndex = 511
    /// The names, upper and lower case being different, that LMDB's files have for other things.
    package static let databases: Set<String> = ["metadata", "history", "digests"]
    /// The names, in any case, that SQLite's files have for other things.
    package static let tables: Set<String> = [
        "habitstore_metadata", "history_transaction", "history_change", "habitstore_digest",
    ]
    /// What SQLite's own tables begin with, in any case.
    static let tablePrefix = "sqlite_"
    /// The suffix of the name of an index that holds copies of records.
    static let clusteringMark = " (clustering)"

    /// What keeps a name from being that of an entity; nil when nothing does.
    package static func problem(ofEntity name: String) -> String? {
        if let problem = problem(of: name) { return problem }
        let isTaken = databases.contains(name) || tables.contains(name.lowercased())
        return isTaken || name.lowercased().hasPrefix(tablePrefix) ? "is a name that stores keep for themselves" : nil
    }

    /// What keeps a name from being that of an attribute or a relationship; nil when nothing does.
    package static func problem(of name: String) -> String? {
        if name.isEmpty { return "is empty" }
        if name.utf8.count > longest { return "has more than \(longest) bytes" }
        if name.contains("`") { return "has a backquote, which no filter can write" }
        if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            return "has a control character"
        }
        return nil
    }

    /// The tables and indexes that SQLite makes of an entity, which must differ from those of all others in more than case.
    static func tables(of entity: EntityDescription) -> [String] {
        let links = entity.attributes.filter { $0.kind == .links }.map { "\(entity.name)_\($0.name)" }
        let columns = entity.indexes.filter { index in
            !index.attributes.contains { name in entity.attributes.contains { $0.name == name && $0.kind == .links } }
        }
        return [entity.name] + columns.map { "\(entity.name)_by_\($0.attributes.joined(separator: "_"))" }
            + links.flatMap { [$0, $0 + "_by_target"] }
    }

    /// The databases that LMDB makes of an entity, and the numbers that PostgreSQL's rows have for them.
    static func databases(of entity: EntityDescription) -> [String] {
        [entity.name] + entity.indexes.map { "\(entity.name).\($0.attributes.joined(separator: "+"))" }
    }
}

/// The room in the keys of an index, by the engine whose keys are the shortest: LMDB's end at 511 bytes.
///
/// A schema is refused on every engine for what this one cannot keep; *On-disk formats* has the layout of a key.
package enum IndexKeyRoom {
    /// The longest key, in bytes.
    package static let longestKey = 511
    /// The length of the identifier that ends each key, in bytes.
    package static let identifierLength = 16
    /// The most attributes, by what each takes: for errors.
    package static let most = "55 numbers and dates, 29 identifiers or 26 texts"
    /// A shorter text in a key would make an index useless.
    private static let leastText = 16

    /// How many bytes of a key a value takes that is not nil; of a text or data, what stands around it.
    package static func fixedLength(_ kind: AttributeKind) -> Int {
        switch kind {
        case .bool: 2
        case .int, .double, .date: 9
        case .uuid, .links: 17
        // The presence byte and the end.
        case .string, .data, .strings: 3
        }
    }

    package static func isVariable(_ kind: AttributeKind) -> Bool { kind == .string || kind == .data }

    /// How many bytes each text and each data may take, what stands around it not counted, and 0 without any; nil where the
    /// attributes are too many for a key.
    package static func textBudget(_ kinds: [AttributeKind]) -> Int? {
        let variable = kinds.count { isVariable($0) }
        let room = longestKey - kinds.reduce(identifierLength) { $0 + fixedLength($1) }
        guard room >= variable * leastText else { return nil }
        return variable == 0 ? 0 : room / variable
    }
}
