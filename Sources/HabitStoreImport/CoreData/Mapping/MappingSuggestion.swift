import HabitStore

/// A mapping that goes by names and types: a beginning, to be looked at by somebody who knows the app.
struct MappingSuggestion {
    private let file: CoreDataFile
    private let schema: Schema
    private let identities: [String: String]
    private let prefix: Int

    init(_ file: CoreDataFile, _ schema: Schema) throws {
        self.file = file
        self.schema = schema
        identities = try IdentityRule.choose(file)
        prefix = MappingWords.commonPrefix(file.model.entities.map(\.name))
    }

    func mapping() -> CoreDataMapping {
        let targets = chosenTargets()
        return CoreDataMapping(
            entities: file.model.entities.filter { !$0.isAbstract }.map { source in
                guard let target = targets[source.name] else {
                    return CoreDataMapping.Entity(source: source.name, target: nil)
                }
                return entity(source, schema.entities[target], targets)
            }
        )
    }

    /// The target of each entity: by its name, and where several have one, by how much of each other's attributes fit.
    private func chosenTargets() -> [String: Int] {
        var result: [String: Int] = [:]
        for source in file.model.entities where !source.isAbstract {
            var best: (target: Int, score: Int)?
            for (position, target) in schema.entities.enumerated() {
                let name = MappingWords.nearness(String(source.name.dropFirst(prefix)), target.name)
                guard name > 0 else { continue }
                let score = name + matched(source, target).count
                if score > best?.score ?? 0 { best = (position, score) }
            }
            if let best { result[source.name] = best.target }
        }
        return result
    }

    /// The target's attributes by the source's, each at most once, the nearest first.
    private func matched(_ source: CoreDataEntity, _ target: EntityDescription) -> [String: String] {
        let stored = Set(
            target.relationships.compactMap { relationship -> String? in
                switch relationship.kind {
                case .toOne(let attribute), .manyToManyOwner(let attribute): attribute
                case .toMany, .manyToManyInverse: nil
                }
            }
        )
        var pairs: [(nearness: Int, source: String, target: String)] = []
        for attribute in source.attributes {
            for other in target.attributes.dropFirst() where !stored.contains(other.name) {
                let nearness = MappingWords.nearness(attribute.name, other.name)
                if nearness > 0, Self.fits(attribute.type, other.kind) {
                    pairs.append((nearness, attribute.name, other.name))
                }
            }
        }
        pairs.sort { ($1.nearness, $0.source, $0.target) < ($0.nearness, $1.source, $1.target) }
        var result: [String: String] = [:]
        var taken: Set<String> = []
        for pair in pairs where result[pair.source] == nil && taken.insert(pair.target).inserted {
            result[pair.source] = pair.target
        }
        return result
    }

    private static func fits(_ type: CoreDataAttributeType, _ kind: AttributeKind) -> Bool {
        switch (type.kind, kind) {
        case let (left, right) where left == right: return true
        case (.int, .double), (.int, .bool), (.int, .string), (.double, .string), (.uuid, .string), (.string, .strings):
            return true
        default: return false
        }
    }

    private func entity(
        _ source: CoreDataEntity,
        _ target: EntityDescription,
        _ targets: [String: Int]
    ) -> CoreDataMapping.Entity {
        let matched = matched(source, target)
        var result = CoreDataMapping.Entity(source: source.name, target: target.name, identity: identities[source.root])
        for attribute in source.attributes where attribute.name != result.identity {
            result.attributes[attribute.name] = .some(matched[attribute.name])
        }
        var filled = Set(matched.values)
        for relationship in source.relationships {
            let found = self.relationship(relationship, target, targets, filled)
            result.relationships[relationship.name] = .some(found?.name)
            if let attribute = found?.attribute { filled.insert(attribute) }
        }
        for attribute in target.attributes.dropFirst()
        where !attribute.isOptional && attribute.kind != .links && !filled.contains(attribute.name) {
            result.constants[attribute.name] = Self.constant(attribute)
        }
        return result
    }

    private func relationship(
        _ relationship: CoreDataRelationship,
        _ target: EntityDescription,
        _ targets: [String: Int],
        _ filled: Set<String>
    ) -> (name: String, attribute: String?)? {
        let family = file.model.family(of: relationship.destination)
        guard let leadsTo = family.compactMap({ targets[$0.name] }).first else { return nil }
        for candidate in target.relationships where candidate.destination == schema.entities[leadsTo].name {
            switch (candidate.kind, relationship.storage) {
            case (.toOne(let attribute), .column) where !filled.contains(attribute): return (candidate.name, attribute)
            case (.manyToManyOwner(let attribute), .table) where !filled.contains(attribute):
                return (candidate.name, attribute)
            case (.toMany, .otherSide), (.manyToManyInverse, .table): return (candidate.name, nil)
            default: continue
            }
        }
        return nil
    }

    private static func constant(_ attribute: AttributeDescription) -> MappedConstant {
        switch attribute.defaultValue {
        case .bool(let flag)?: return .bool(flag)
        case .int(let number)?: return .int(number)
        case .double(let number)?: return .double(number)
        case .string(let text)?: return .string(text)
        default: break
        }
        switch attribute.kind {
        case .bool: return .bool(false)
        case .int: return attribute.name.hasSuffix("Period") || attribute.name.hasSuffix("Days") ? .int(1) : .int(0)
        case .double: return .double(0)
        case .date: return .string("2001-01-01T00:00:00Z")
        default: return .string("")
        }
    }
}

extension CoreDataMapping {
    /// A mapping of a file to a schema that goes by names and types. Everything that the file has stands in it: what has no
    /// place yet as null.
    public static func suggested(for file: CoreDataFile, to schema: Schema = HabitSchema.current) throws
        -> CoreDataMapping
    {
        try MappingSuggestion(file, schema).mapping()
    }
}
