import HabitStore

/// Makes the model of a file out of the one that is archived in it, for the entities that the file has tables of.
struct CachedModelBuilder {
    private let archived: [String: ArchivedModel.Entity]
    private let tables: StoreTables
    private(set) var oddities: [CoreDataOddity] = []

    init(_ model: ArchivedModel, _ tables: StoreTables) {
        archived = Dictionary(model.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.tables = tables
    }

    /// The entities, without columns. Nil when the file has entities that the archived model does not have: it is of another
    /// version then.
    mutating func entities() -> [CoreDataEntity]? {
        let unknown = tables.entities.filter { archived[$0.name] == nil }
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
        let elsewhere = archived.keys.filter { name in !tables.entities.contains { $0.name == name } }.sorted()
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
        for numbered in tables.entities {
            if let made = entity(numbered) { result.append(made) }
        }
        return result
    }

    private mutating func entity(_ numbered: StoreTables.NumberedEntity) -> CoreDataEntity? {
        guard let entity = archived[numbered.name] else { return nil }
        let ancestry = tables.ancestry(of: numbered)
        let root = ancestry.last?.name ?? numbered.name
        guard let table = tables.table(of: root) else {
            if !entity.isAbstract {
                oddities.append(
                    CoreDataOddity("tableMissing", "\(numbered.name) has no table", entity: numbered.name)
                )
            }
            return nil
        }
        let properties = entity.properties.sorted { $0.name < $1.name }
        var notStored: [String] = []
        var attributes: [CoreDataAttribute] = []
        var relationships: [CoreDataRelationship] = []
        for property in properties {
            let declaredIn = ancestry.last {
                archived[$0.name]?.properties.contains { $0.name == property.name } == true
            }
            let owner = declaredIn?.name ?? entity.name
            switch property {
            case .attribute(let attribute): attributes += flattened(attribute, prefix: "", owner: owner, false, 0)
            case .relationship(let relationship): relationships.append(made(relationship, owner))
            case .notStored(let name): notStored.append(name)
            }
        }
        return CoreDataEntity(
            name: numbered.name,
            number: numbered.number,
            superentity: ancestry.count > 1 ? ancestry[1].name : nil,
            root: root,
            isAbstract: entity.isAbstract,
            className: entity.className,
            table: table,
            attributes: attributes,
            relationships: relationships,
            uniqueness: ancestry.flatMap { archived[$0.name]?.uniqueness ?? [] }.uniqued(),
            notStored: notStored
        )
    }

    /// An attribute, or the elements of a composite under dotted names.
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
    /// The elements without repeats, in their order.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
