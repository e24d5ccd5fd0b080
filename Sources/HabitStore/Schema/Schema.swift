import Foundation
import Synchronization

/// The entities that a store keeps, with everything about them resolved and proven once.
///
/// A schema that contradicts itself (a model whose code does not follow its declaration, a relationship without its
/// other side) is found when it is made, and thrown by every store that is opened with it.
public final class Schema: Sendable {
    /// A relationship with its names resolved to positions.
    @_spi(Engines) public struct Relationship: Sendable {
        /// The declaration.
        public let description: RelationshipDescription
        /// The position of the destination entity.
        public let destination: Int
        /// The position of the stored attribute: on this side for to-one and owners, on the other side otherwise.
        public let attribute: Int

        /// Whether this side stores the reference.
        public var isStored: Bool {
            switch description.kind {
            case .toOne, .manyToManyOwner: return true
            case .toMany, .manyToManyInverse: return false
            }
        }
    }

    /// The property that a key path leads to.
    @_spi(Engines) public enum Property: Sendable {
        /// A stored attribute: entity and attribute position.
        case attribute(entity: Int, position: Int)
        /// A relationship: entity and relationship position.
        case relationship(entity: Int, position: Int)
    }

    /// A stored reference from another entity's records, and what happens to them when the record here is deleted.
    struct Inbound: Sendable {
        let entity: Int
        let attribute: Int
        let rule: DeleteRule
    }

    /// The entities, in declared order; their positions identify them everywhere below the boundary.
    public let entities: [EntityDescription]
    /// The schema's version.
    public let version: Version
    /// The resolved relationships of each entity.
    @_spi(Engines) public let relationships: [[Relationship]]
    let inbound: [[Inbound]]
    /// For each entity, the references that its own records hold.
    let storedReferences: [[StoredReference]]
    /// For each entity, the unique attributes except the identifier.
    let uniquePositions: [[Int]]
    /// For each entity, the combinations of attributes that are unique.
    let uniqueCombinations: [[UniqueCombination]]
    /// For each entity, where its attributes lie in an encoded record.
    let layouts: [RecordLayout]
    private let positions: [String: Int]
    private let typePositions: [ObjectIdentifier: Int]
    // Nothing changes these two, and their key paths come from `any AnyKeyPath & Sendable`; only the dictionary's key type forgets it.
    private nonisolated(unsafe) let properties: [AnyKeyPath: Property]
    /// The positions of attributes that filters do not see, see ``AttributeDescription/isOpaque``.
    private nonisolated(unsafe) let opaquePositions: [AnyKeyPath: Int]
    private let validation: Result<Void, any Error>
    private let entityHashes: [String]
    /// The predicates that were asked.
    let shapes = ShapeCache()
    /// What key paths lead to that were asked for, by the object that each is.
    private let seenKeyPaths = Mutex<[ObjectIdentifier: SeenKeyPath]>([:])
    /// What engines have made of the schema, by its type.
    private let derived = Mutex<[ObjectIdentifier: any Sendable]>([:])

    /// What stores write down of the schema.
    let stored: StoredSchema
    /// The same as the text that it is written as.
    let storedText: String

    /// Makes a schema from models.
    public convenience init(_ models: [any PersistentModel.Type], version: Version = Version(1, 0, 0)) {
        self.init(models: models, version: version, isEarlier: false)
    }

    /// Makes the schema of a version that stores only migrate from. It may break rules that came later, if its engine accepted it: such a store has to
    /// be opened to be renamed.
    convenience init(earlier models: [any PersistentModel.Type], version: Version) {
        self.init(models: models, version: version, isEarlier: true)
    }

    /// Makes a schema whose records may have other sizes than all others may, for tests.
    package convenience init(_ models: [any PersistentModel.Type], largestRecord: Int) {
        self.init(models: models, version: Version(1, 0, 0), isEarlier: false, largestRecord: largestRecord)
    }

    private convenience init(
        models: [any PersistentModel.Type],
        version: Version,
        isEarlier: Bool,
        largestRecord: Int = RecordLimits.largestRecord
    ) {
        let entities = models.map { model in
            var entity = model.entity
            let limits = RecordLimits(entity.name, entity.attributes, record: largestRecord)
            if largestRecord != RecordLimits.largestRecord {
                entity.layout = RecordLayout(kinds: entity.layout.kinds, limits: limits)
            }
            return entity
        }.resolvingKeyPaths()
        self.init(entities: entities, version: version) { entities throws(HabitStoreError) in
            try Self.requireOwnEntity(models)
            try Self.requireProperties(entities)
            if !isEarlier {
                try Self.requireNames(entities)
                try Self.requireDeclarations(entities)
            }
        }
    }

    /// Makes a schema of entities that have no Swift type in this program. A store that is opened with it can be counted,
    /// checked, copied, verified, migrated and read record by record; models cannot be fetched.
    @_spi(Engines) public convenience init(shapes: [EntityShape], version: Version = Version(1, 0, 0)) {
        self.init(entities: shapes.map { EntityDescription($0) }, version: version) { _ in }
    }

    /// - Parameter rules: what entities with Swift types have to keep to.
    private init(
        entities: [EntityDescription],
        version: Version,
        rules: ([EntityDescription]) throws(HabitStoreError) -> Void
    ) {
        self.entities = entities
        let stored = StoredSchema(version: version, entities: entities.map { EntityShape($0) })
        let text = Result { try stored.text() }
        self.stored = stored
        storedText = (try? text.get()) ?? ""
        self.version = version
        positions = Dictionary(entities.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        let typed = entities.enumerated().filter { !$0.element.isUntyped }
        typePositions = Dictionary(
            typed.map { (ObjectIdentifier($1.modelType), $0) },
            uniquingKeysWith: { first, _ in first }
        )
        var properties: [AnyKeyPath: Property] = [:]
        var opaquePositions: [AnyKeyPath: Int] = [:]
        for (index, entity) in typed {
            for (position, attribute) in entity.attributes.enumerated() {
                if attribute.isOpaque {
                    opaquePositions[attribute.keyPath] = position
                } else {
                    properties[attribute.keyPath] = .attribute(entity: index, position: position)
                }
            }
            for (position, relationship) in entity.relationships.enumerated() {
                properties[relationship.keyPath] = .relationship(entity: index, position: position)
            }
        }
        self.properties = properties
        self.opaquePositions = opaquePositions
        entityHashes = entities.map(Self.hash)
        layouts = entities.map(\.layout)
        uniquePositions = entities.map { entity in
            entity.attributes.indices.dropFirst().filter { entity.attributes[$0].isUnique }
        }
        uniqueCombinations = entities.enumerated().map { position, entity in
            entity.uniqueness.map {
                UniqueCombination(entity: position, positions: $0.attributes.compactMap(entity.position))
            }
        }
        do throws(HabitStoreError) {
            try Self.requireDifferentEntities(entities)
            try rules(entities)
            let resolved = try Self.resolve(entities, positions)
            relationships = resolved
            inbound = Self.inboundReferences(entities, resolved)
            storedReferences = resolved.map(StoredReference.all)
            validation = Result {
                try SchemaProof.run(entities)
                _ = try text.get()
            }
        } catch {
            relationships = entities.map { _ in [] }
            inbound = entities.map { _ in [] }
            storedReferences = entities.map { _ in [] }
            validation = .failure(error)
        }
    }

    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` when the schema contradicts itself or a model's code.
    public func validate() throws { try validation.get() }

    /// The position of the entity with a name. Case is ignored, as on the command line.
    ///
    /// - Throws: ``HabitStoreError/Code/unknownEntity``, listing the names.
    @_spi(Engines) public func position(ofEntity name: String) throws -> Int {
        if let position = positions[name] { return position }
        if let position = entities.firstIndex(where: { $0.name.lowercased() == name.lowercased() }) { return position }
        throw HabitStoreError(
            .unknownEntity,
            "there is no entity of this name; the schema has \(entities.map(\.name).joined(separator: ", "))",
            at: .init(entity: name),
            detail: name
        )
    }

    /// The position of a model's entity.
    ///
    /// - Throws: ``HabitStoreError/Code/unknownEntity`` when the model does not belong to this schema.
    @_spi(Engines) public func position<M: PersistentModel>(of model: M.Type) throws -> Int {
        if let position = typePositions[ObjectIdentifier(model)] { return position }
        throw HabitStoreError(.unknownEntity, "the model \(model) does not belong to the store's schema")
    }

    /// The property that a key path of one of the models leads to, or nil.
    @_spi(Engines) public func property(at keyPath: AnyKeyPath) -> Property? {
        // A key path that is written in an app's code is one object. To hash what it consists of costs far more.
        if let seen = seenKeyPaths.withLock({ $0[ObjectIdentifier(keyPath)] }) { return seen.property }
        guard let property = properties[keyPath] else { return nil }
        let seen = SeenKeyPath(keyPath: keyPath, property: property)
        seenKeyPaths.withLock { known in
            if known.count < Self.mostSeenKeyPaths { known[ObjectIdentifier(keyPath)] = seen }
        }
        return property
    }

    /// The position of the attribute that a key path leads to, also of one that is kept as JSON; nil for anything else.
    func attributePosition(at keyPath: AnyKeyPath) -> Int? {
        if case .attribute(_, let position)? = property(at: keyPath) { return position }
        return opaquePositions[keyPath]
    }

    private static let mostSeenKeyPaths = 512

    /// A key path, kept so that no other object can take its place in memory.
    private struct SeenKeyPath: @unchecked Sendable {
        // Never looked into; it is equal to one of the schema's, which are `Sendable`.
        let keyPath: AnyKeyPath
        let property: Property
    }

    /// A name for an entity's shape that changes when an attribute, its kind, optionality, uniqueness, a unique combination or a relationship
    /// does: XXH64 over the declaration, as 16 hexadecimal digits.
    @_spi(Engines) public func shapeHash(ofEntity position: Int) -> String { entityHashes[position] }

    /// An engine's derivation of the schema, made on first use and kept with the schema, so that opening a store does not repeat it. Errors of `make`
    /// are not kept.
    package func derived<Value: Sendable>(_ type: Value.Type, _ make: () throws -> Value) rethrows -> Value {
        let key = ObjectIdentifier(type)
        if let made = derived.withLock({ $0[key] }) as? Value { return made }
        let made = try make()
        derived.withLock { $0[key] = made }
        return made
    }
}

extension Schema {
    private static func hash(_ entity: EntityDescription) -> String {
        var text = entity.name
        for attribute in entity.attributes {
            text += "\n\(attribute.name):\(attribute.kind.rawValue):\(attribute.isOptional ? "?" : "!")"
            text += ":\(attribute.isUnique)"
        }
        // Only of entities that have such: the others keep the hash that their stores have written down.
        for combination in entity.uniqueness { text += "\nunique(\(combination.attributes.joined(separator: ",")))" }
        for relationship in entity.relationships {
            text += "\n\(relationship.name)->\(relationship.destination):\(relationship.kind)"
            text += ":\(relationship.inverse ?? ""):\(relationship.deleteRule.rawValue)"
        }
        return XXHash64.digits(of: text)
    }

    private static func resolve(
        _ entities: [EntityDescription],
        _ positions: [String: Int]
    ) throws(HabitStoreError) -> [[Relationship]] {
        var result: [[Relationship]] = []
        for entity in entities {
            // First, since a combination that makes no sense makes an index that makes none.
            try requireCombinations(of: entity)
            try requireIndexedAttributes(of: entity)
            try requireOneClusteringIndex(of: entity)
            var resolved: [Relationship] = []
            for relationship in entity.relationships {
                resolved.append(try resolve(relationship, of: entity, entities, positions))
            }
            result.append(resolved)
        }
        return result
    }

    private static func requireIndexedAttributes(of entity: EntityDescription) throws(HabitStoreError) {
        for index in entity.indexes {
            for name in index.attributes where entity.position(of: name) == nil {
                throw entity.contradiction(
                    "an index of \(entity.name) names \(name), which is not one of its attributes",
                    at: name
                )
            }
        }
    }

    private static func requireCombinations(of entity: EntityDescription) throws(HabitStoreError) {
        for combination in entity.uniqueness {
            func contradiction(_ message: String, _ name: String? = nil) -> HabitStoreError {
                entity.contradiction("a unique combination of \(entity.name) \(message)", at: name)
            }
            guard !combination.attributes.isEmpty else { throw contradiction("has no attributes") }
            for (place, name) in combination.attributes.enumerated() {
                guard let position = entity.position(of: name) else {
                    throw contradiction("names \(name), which is not one of its attributes", name)
                }
                guard entity.attributes[position].kind != .links else {
                    throw contradiction("names \(name), which are links", name)
                }
                guard !combination.attributes[..<place].contains(name) else {
                    throw contradiction("names \(name) twice", name)
                }
            }
        }
    }

    private static func requireOneClusteringIndex(of entity: EntityDescription) throws(HabitStoreError) {
        let clustering = entity.indexes.filter(\.isClustering)
        guard let index = clustering.first else { return }
        guard clustering.count == 1 else {
            throw entity.contradiction(
                "\(entity.name) has \(clustering.count) clustering indexes, and can have one"
            )
        }
        // Each link has a separate key, so the record would be copied for each.
        for name in index.attributes where entity.attributes.contains(where: { $0.name == name && $0.kind == .links }) {
            throw entity.contradiction("\(entity.name) has a clustering index over \(name), which are links")
        }
    }

    private static func resolve(
        _ relationship: RelationshipDescription,
        of entity: EntityDescription,
        _ entities: [EntityDescription],
        _ positions: [String: Int]
    ) throws(HabitStoreError) -> Relationship {
        func contradiction(_ message: String) -> HabitStoreError {
            entity.contradiction(
                "the relationship \(entity.name).\(relationship.name) \(message)",
                at: relationship.name
            )
        }
        guard let destination = positions[relationship.destination] else {
            throw contradiction("leads to \(relationship.destination), which the schema does not have")
        }
        let other = entities[destination].relationships.first { $0.name == relationship.inverse }
        if let inverse = relationship.inverse {
            guard let other, other.destination == entity.name, other.inverse == relationship.name else {
                throw contradiction("has the inverse \(inverse), which does not lead back")
            }
        }
        let stored: (EntityDescription, String, AttributeKind)
        switch (relationship.kind, other?.kind) {
        case (.toOne(let attribute), _): stored = (entity, attribute, .uuid)
        case (.manyToManyOwner(let attribute), _): stored = (entity, attribute, .links)
        case (.toMany, .toOne(let attribute)): stored = (entities[destination], attribute, .uuid)
        case (.manyToManyInverse, .manyToManyOwner(let attribute)): stored = (entities[destination], attribute, .links)
        default: throw contradiction("needs an inverse that stores the reference")
        }
        guard let position = stored.0.position(of: stored.1), stored.0.attributes[position].kind == stored.2 else {
            throw contradiction(
                "is stored in \(stored.0.name).\(stored.1), which is not a \(stored.2.rawValue) attribute"
            )
        }
        return Relationship(description: relationship, destination: destination, attribute: position)
    }

    /// For each entity, the stored references that lead to its records, with the rule that this side declares for them.
    private static func inboundReferences(
        _ entities: [EntityDescription],
        _ relationships: [[Relationship]]
    ) -> [[Inbound]] {
        var result: [[Inbound]] = entities.map { _ in [] }
        for (source, resolved) in relationships.enumerated() {
            for relationship in resolved where relationship.isStored {
                let inverse = entities[relationship.destination].relationships.first {
                    $0.name == relationship.description.inverse
                }
                result[relationship.destination].append(
                    Inbound(
                        entity: source,
                        attribute: relationship.attribute,
                        rule: inverse?.deleteRule ?? .noAction
                    )
                )
            }
        }
        return result
    }
}

/// A reference that an entity's own records hold, as writing looks at it: numbers only.
struct StoredReference: Sendable {
    /// The position of the attribute, an identifier or links.
    let attribute: Int
    /// The position of the entity that it leads to.
    let destination: Int
    /// The position of the relationship.
    let relationship: Int

    /// Those of an entity's relationships.
    static func all(_ relationships: [Schema.Relationship]) -> [StoredReference] {
        relationships.enumerated().compactMap { position, relationship in
            guard relationship.isStored else { return nil }
            return StoredReference(
                attribute: relationship.attribute,
                destination: relationship.destination,
                relationship: position
            )
        }
    }

    /// Hands what a record refers to, and its earlier form did not refer to, to `body`.
    func forEachNewTarget(of record: RecordView, since old: RecordView?, _ body: (UUID) throws -> Void) throws {
        let targets = try identifiers(record)
        guard !targets.isEmpty else { return }
        var known: Set<UUID> = []
        if let old {
            let before = try identifiers(old)
            if before.elementsEqual(targets) { return }
            known = Set(try RecordView.links(before))
        }
        for offset in stride(from: 0, to: targets.count, by: 16) {
            let target = targets.loadUnaligned(fromByteOffset: offset, as: UUID.self)
            if known.isEmpty || !known.contains(target) { try body(target) }
        }
    }

    private func identifiers(_ record: RecordView) throws -> UnsafeRawBufferPointer {
        let bytes = try record.rawBytes(at: attribute)
        guard bytes.count.isMultiple(of: 16) else { throw AttributeReader.outOfBounds }
        return bytes
    }
}

/// A combination of attributes that no two records may have in common, as positions.
struct UniqueCombination: Sendable {
    let entity: Int
    let positions: [Int]

    /// The combination that a record has; nil where one of the attributes is nil.
    func values(of record: RecordView) throws -> [Value]? {
        var values: [Value] = []
        for position in positions {
            let value = try record.value(at: position)
            if value.isNull { return nil }
            values.append(value)
        }
        return values
    }

    /// The attributes' names, for people: `name, startDate and endDate`.
    func title(_ schema: Schema) -> String {
        let names = positions.map { schema.entities[entity].attributes[$0].name }
        guard names.count > 1 else { return names.first ?? "" }
        return names.dropLast().joined(separator: ", ") + " and " + names[names.count - 1]
    }
}
