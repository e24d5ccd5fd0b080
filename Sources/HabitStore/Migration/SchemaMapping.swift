/// How the records of one schema version become those of a later one.
struct SchemaMapping {
    /// An entity for each of the new version.
    let entities: [EntityMapping]
    /// The names of the old entities that are gone.
    let removed: [String]
    /// The attributes that were not unique before and are now: entity and attribute position in the new version.
    let newlyUnique: [(entity: Int, attribute: Int)]
    /// The combinations that were not unique before and are now.
    let newCombinations: [UniqueCombination]
    /// What changes, a sentence each.
    let changes: [String]
    /// The attributes and entities of the old version whose values go.
    let drops: [Drop]

    /// What goes, by its positions in the old version.
    struct Drop {
        let entity: Int
        /// Nil where the whole entity goes.
        let attribute: Int?
    }

    /// - Parameter isCustom: whether the stage has hooks, which may fill an attribute whose kind changes.
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` if the declarations do not say how to migrate.
    init(from old: Schema, to new: Schema, isCustom: Bool) throws {
        try old.validate()
        try new.validate()
        var builder = Builder(isCustom: isCustom)
        var used: Set<Int> = []
        var entities: [EntityMapping] = []
        for (position, entity) in new.entities.enumerated() {
            let source = old.entities.place(ofFormer: entity)
            if let source {
                used.insert(source)
            } else if let name = entity.originalName {
                throw Self.unknown("\(entity.name)", name, old.entities.map(\.name), at: .init(entity: entity.name))
            }
            entities.append(try builder.map(entity, at: position, source.map { ($0, old.entities[$0]) }))
        }
        let gone = old.entities.indices.filter { !used.contains($0) }
        self.entities = entities
        // A renamed entity leaves its old name.
        removed = old.entities.map(\.name).filter { name in !new.entities.contains { $0.name == name } }
        newlyUnique = builder.newlyUnique
        newCombinations = entities.flatMap { entity in
            let before = entity.source.map { old.entities[$0].uniqueness } ?? []
            return zip(new.entities[entity.target].uniqueness, new.uniqueCombinations[entity.target])
                .filter { !before.contains($0.0) }.map(\.1)
        }
        changes = builder.changes + gone.map { "\(old.entities[$0].name) is removed with all of its records" }
        drops = builder.drops + gone.map { Drop(entity: $0, attribute: nil) }
    }

    /// A declaration with a former name is not taken for a new one, which would begin empty and drop the old values.
    fileprivate static func unknown(
        _ title: String,
        _ name: String,
        _ known: [String],
        at location: HabitStoreError.Location
    ) -> HabitStoreError {
        HabitStoreError(
            .schemaMismatch,
            "\(title) was called \(name) by its originalName, and the version before has no such name; write one of "
                + "\(known.joined(separator: ", ")), or take originalName out where it is new",
            at: location
        )
    }
}

private struct Builder {
    let isCustom: Bool
    var changes: [String] = []
    var newlyUnique: [(entity: Int, attribute: Int)] = []
    var drops: [SchemaMapping.Drop] = []

    mutating func map(
        _ entity: EntityDescription,
        at target: Int,
        _ source: (position: Int, entity: EntityDescription)?
    ) throws -> EntityMapping {
        guard let source else {
            changes.append("\(entity.name) is new")
            return EntityMapping(target: target, source: nil, attributes: [], isRewritten: true, description: entity)
        }
        if source.entity.name != entity.name { changes.append("\(source.entity.name) becomes \(entity.name)") }
        var attributes: [EntityMapping.Source] = []
        for (position, attribute) in entity.attributes.enumerated() {
            let before = source.entity.attributes.place(ofFormer: attribute)
            if before == nil, let name = attribute.originalName {
                throw SchemaMapping.unknown(
                    "\(entity.name).\(attribute.name)",
                    name,
                    source.entity.attributes.map(\.name),
                    at: .init(entity: entity.name, attribute: attribute.name)
                )
            }
            attributes.append(try map(attribute, of: entity, before.map { ($0, source.entity.attributes[$0]) }))
            let wasUnique = before.map { source.entity.attributes[$0].isUnique } ?? false
            if attribute.isUnique, !wasUnique { newlyUnique.append((target, position)) }
        }
        let kept = Set(entity.attributes.compactMap { source.entity.attributes.place(ofFormer: $0) })
        for (position, attribute) in source.entity.attributes.enumerated() where !kept.contains(position) {
            changes.append("\(source.entity.name).\(attribute.name) is removed")
        }
        // Also what keeps its name and becomes of another kind.
        let copied = attributes.compactMap(\.copiedPosition)
        drops += source.entity.attributes.indices.filter { !copied.contains($0) }
            .map { SchemaMapping.Drop(entity: source.position, attribute: $0) }
        return EntityMapping(
            target: target,
            source: source.position,
            attributes: attributes,
            isRewritten: source.entity.name != entity.name || !Self.lieAlike(source.entity, entity),
            description: entity
        )
    }

    /// Whether the records of both have the same form in a file.
    private static func lieAlike(_ left: EntityDescription, _ right: EntityDescription) -> Bool {
        left.indexes == right.indexes && left.attributes.count == right.attributes.count
            && zip(left.attributes, right.attributes).allSatisfy {
                $0.name == $1.name && $0.kind == $1.kind && $0.isOptional == $1.isOptional
            }
    }

    private mutating func map(
        _ attribute: AttributeDescription,
        of entity: EntityDescription,
        _ source: (position: Int, attribute: AttributeDescription)?
    ) throws -> EntityMapping.Source {
        let title = "\(entity.name).\(attribute.name)"
        guard let source, source.attribute.kind == attribute.kind else {
            if let source, !isCustom {
                throw entity.contradiction(
                    "\(title) changes from \(source.attribute.kind) to \(attribute.kind), which needs a custom stage",
                    at: attribute.name
                )
            }
            let value = try begin(attribute, of: entity)
            changes.append(
                "\(title) is new, \(value.isNull ? "nil" : value.description) for existing records"
            )
            return .constant(value)
        }
        if source.attribute.name != attribute.name {
            changes.append("\(entity.name).\(source.attribute.name) becomes \(title)")
        }
        if source.attribute.isOptional != attribute.isOptional {
            let fallback = attribute.defaultValue.map { ", \($0) where it was" } ?? ""
            changes.append(
                "\(title) may \(attribute.isOptional ? "" : "no longer ")be nil\(attribute.isOptional ? "" : fallback)"
            )
        }
        if source.attribute.isUnique != attribute.isUnique {
            changes.append("\(title) is \(attribute.isUnique ? "" : "no longer ")unique")
        }
        return .copy(position: source.position, fallback: attribute.isOptional ? nil : attribute.defaultValue)
    }

    /// The value of a new attribute in existing records.
    private func begin(_ attribute: AttributeDescription, of entity: EntityDescription) throws -> Value {
        if let value = attribute.defaultValue { return value }
        if attribute.kind == .links { return .links([]) }
        if attribute.isOptional { return .null }
        throw entity.contradiction(
            "\(entity.name).\(attribute.name) is new and may not be nil; declare a default for existing records",
            at: attribute.name
        )
    }
}

/// How the records of an entity are made from those of an older schema version.
struct EntityMapping {
    /// Where an attribute's value comes from.
    enum Source: Equatable {
        /// From an attribute of the old record; `fallback` stands for nil where that is no longer allowed.
        case copy(position: Int, fallback: Value?)
        /// It is new.
        case constant(Value)

        /// The position in the old record that the value is from; nil for a new one.
        var copiedPosition: Int? {
            switch self {
            case .copy(let position, _): position
            case .constant: nil
            }
        }
    }

    /// The entity's position in the new schema.
    let target: Int
    /// The entity's position in the old schema; nil for a new entity.
    let source: Int?
    /// For each attribute of the new record.
    let attributes: [Source]
    /// Whether the records have to be rewritten.
    let isRewritten: Bool
    /// The attributes that may no longer be nil.
    private let required: [Int]
    private let description: EntityDescription

    init(
        target: Int,
        source: Int?,
        attributes: [Source],
        isRewritten: Bool,
        description: EntityDescription
    ) {
        (self.target, self.source, self.attributes) = (target, source, attributes)
        (self.isRewritten, self.description) = (isRewritten, description)
        required = description.attributes.indices.filter { position in
            !description.attributes[position].isOptional && description.attributes[position].kind != .links
        }
    }

    /// The new record.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` where a value is nil that may not be, and there is no default.
    func record(_ old: EncodedRecord, _ layout: RecordLayout) throws -> EncodedRecord {
        let before = try old.values(layout)
        let values = attributes.map { source in
            switch source {
            case .constant(let value): return value
            case .copy(let position, let fallback):
                return before[position].isNull ? fallback ?? .null : before[position]
            }
        }
        for position in required where values[position].isNull {
            let attribute = description.attributes[position].name
            guard case .uuid(let id) = values[0] else { continue }
            throw HabitStoreError(
                .invalidValue,
                "\(description.name).\(attribute) of the record \(id.uuidString) is nil, which the new schema version does not "
                    + "allow; declare a default",
                at: .init(entity: description.name, attribute: attribute, id: id)
            )
        }
        return try EncodedRecord(values, layout: description.layout)
    }
}

/// A declaration whose name may have been another in the previous version.
protocol Renamed {
    var name: String { get }
    var originalName: String? { get }
}

extension EntityDescription: Renamed {}
extension AttributeDescription: Renamed {}

extension Array where Element: Renamed {
    /// The position in this version of an element of a later one; nil for a new element.
    ///
    /// `originalName` is the name in the previous version. A declaration copied into versions after the rename keeps it, as with Core Data's renaming
    /// identifiers: those versions look for its own name first, then for the former one.
    func place(ofFormer element: Element) -> Int? {
        guard let original = element.originalName else { return firstIndex { $0.name == element.name } }
        return firstIndex { $0.name == element.name && $0.originalName == original }
            ?? firstIndex { $0.name == original }
            ?? firstIndex { $0.name == element.name || $0.originalName == original }
    }
}
