@_spi(Engines) import HabitStore

/// Builds the model of a file from the model archived in it, for the entities that have tables.
struct CachedModelBuilder {
    private let archived: [String: ArchivedModel.Entity]
    /// The model's entities, by the numbers in the file.
    private var numbered: [Int: ArchivedModel.Entity] = [:]
    private let tables: StoreTables
    private(set) var oddities: [CoreDataOddity] = []

    init(_ model: ArchivedModel, _ tables: StoreTables) {
        archived = Dictionary(model.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.tables = tables
    }

    /// The entities, without columns. Nil if the file has entities that the archived model lacks: the model is then of another version.
    mutating func entities() -> [CoreDataEntity]? {
        matchNames()
        let unknown = tables.entities.filter { numbered[$0.number] == nil }
        guard unknown.isEmpty else {
            oddities.append(
                CoreDataOddity(
                    "modelCacheStale",
                    "the model that is kept in the file lacks \(unknown.map(\.name).joined(separator: ", ")): it is not used",
                    count: unknown.count
                )
            )
            return nil
        }
        let here = Set(numbered.values.map(\.name))
        let elsewhere = archived.keys.filter { !here.contains($0) }.sorted()
        if !elsewhere.isEmpty {
            oddities.append(
                CoreDataOddity(
                    "entityElsewhere",
                    "the model has \(elsewhere.joined(separator: ", ")), and the file does not: they are kept elsewhere, or nowhere",
                    count: elsewhere.count
                )
            )
        }
        var result: [CoreDataEntity] = []
        for row in tables.entities {
            if let made = entity(row) { result.append(made) }
        }
        return result
    }

    /// Finds the entity for each number. An in-place migration renames an entity in the model but leaves its old name next to the number.
    private mutating func matchNames() {
        for row in tables.entities { numbered[row.number] = archived[row.name] }
        let taken = Set(numbered.values.map(\.name))
        for row in tables.entities where numbered[row.number] == nil {
            let candidates = archived.values.filter { $0.formerName == row.name && !taken.contains($0.name) }
            guard candidates.count == 1, let entity = candidates.first else { continue }
            numbered[row.number] = entity
            oddities.append(
                CoreDataOddity(
                    "entityRenamed",
                    "\(row.name) is called \(entity.name) in the model, and not yet in the file's list of entities",
                    entity: entity.name
                )
            )
        }
    }

    private mutating func entity(_ row: StoreTables.NumberedEntity) -> CoreDataEntity? {
        guard let entity = numbered[row.number] else { return nil }
        let rows = tables.ancestry(of: row)
        let ancestry = rows.compactMap { numbered[$0.number] }
        let root = ancestry.last?.name ?? entity.name
        guard let table = tables.table(of: root) ?? rows.last.flatMap({ tables.table(of: $0.name) }) else {
            if !entity.isAbstract {
                oddities.append(CoreDataOddity("tableMissing", "\(entity.name) has no table", entity: entity.name))
            }
            return nil
        }
        // An entity has all properties of its ancestors, whether or not the archive repeats them.
        var inherited: [String: ArchivedModel.Property] = [:]
        for ancestor in ancestry.reversed() {
            for property in ancestor.properties { inherited[property.name] = property }
        }
        let properties = inherited.values.sorted { $0.name < $1.name }
        var notStored: [String] = []
        var attributes: [CoreDataAttribute] = []
        var relationships: [CoreDataRelationship] = []
        for property in properties {
            let declaredIn = ancestry.last { $0.properties.contains { $0.name == property.name } }
            let owner = declaredIn?.name ?? entity.name
            switch property {
            case .attribute(let attribute): attributes += flattened(attribute, prefix: "", owner: owner, false, 0)
            case .relationship(let relationship): relationships.append(made(relationship, owner))
            case .notStored(let name): notStored.append(name)
            }
        }
        return CoreDataEntity(
            name: entity.name,
            number: row.number,
            superentity: ancestry.count > 1 ? ancestry[1].name : nil,
            root: root,
            isAbstract: entity.isAbstract,
            className: entity.className,
            table: table,
            attributes: attributes,
            relationships: relationships,
            uniqueness: ancestry.flatMap(\.uniqueness).uniqued(),
            notStored: notStored
        )
    }

    /// An attribute, or the elements of a composite with dotted names.
    private mutating func flattened(
        _ attribute: ArchivedAttribute,
        prefix: String,
        owner: String,
        _ isWithinOptional: Bool,
        _ depth: Int
    ) -> [CoreDataAttribute] {
        let isOptional = isWithinOptional || attribute.isOptional
        if attribute.type == CoreDataAttributeType.composite.rawValue, !attribute.elements.isEmpty {
            return attribute.elements.flatMap {
                flattened($0, prefix: "\(prefix)\(attribute.name).", owner: owner, isOptional, depth + 1)
            }
        }
        let type = CoreDataAttributeType(rawValue: attribute.type)
        if type == nil || type == .composite {
            oddities.append(
                CoreDataOddity(
                    "typeUnknown",
                    "\(owner).\(prefix)\(attribute.name) has the type \(attribute.type), which is not known: it is read as stored",
                    entity: owner,
                    property: prefix + attribute.name
                )
            )
        }
        return [
            CoreDataAttribute(
                name: prefix + attribute.name,
                type: type == .composite ? .undefined : type ?? .undefined,
                isOptional: isOptional,
                isDerived: attribute.isDerived,
                allowsExternalStorage: attribute.allowsExternalStorage,
                defaultValue: attribute.defaultValue,
                valueClass: attribute.valueClass,
                transformer: attribute.transformer,
                declaredIn: owner,
                isGuessed: false,
                column: nil
            )
        ]
    }

    private func made(_ relationship: ArchivedRelationship, _ owner: String) -> CoreDataRelationship {
        let rules = ["noAction", "nullify", "cascade", "deny"]
        return CoreDataRelationship(
            name: relationship.name,
            destination: relationship.destination,
            inverse: relationship.inverse,
            isToMany: relationship.isToMany,
            isOrdered: relationship.isOrdered,
            isOptional: relationship.isOptional,
            deleteRule: rules.indices.contains(relationship.deleteRule) ? rules[relationship.deleteRule] : "unknown",
            declaredIn: owner,
            isGuessed: false
        )
    }
}

extension Array where Element: Hashable {
    /// The distinct elements, in order.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
