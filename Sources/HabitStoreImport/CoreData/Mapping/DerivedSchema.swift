@_spi(Engines) import HabitStore

/// Derives a schema, and the plan for its import, from a Core Data model. Used if no other schema is requested.
///
/// - Each root entity and all that inherit from it become one entity, because a reference may lead to any of them. If there are several,
///   `coreDataEntity` names the entity of a record.
/// - `id` is the identity by ``IdentityRule``, `coreDataKey` the key in the table (`Z_PK`).
/// - Attributes keep their names; elements of composites are named `composite.element`. All are optional, as Core Data files may lack any
///   value. Integers become `int`; decimals, doubles and floats `double`; texts and URIs `string`; dates `date`; UUIDs `uuid`;
///   transformables and binaries `data`; a list of texts stored as JSON `strings`.
/// - A to-one relationship `author` is stored in `authorID`. A to-many relationship without an inverse, `notes` of `Book`, gets one on the
///   other side: `notesOfBook`. A many-to-many relationship is stored on the side whose name sorts first.
/// - The order of an ordered relationship is the other side's `…Order`, the number that Core Data stores; with a link table, it is a list
///   of identifiers on the ordered side.
/// - `CoreDataSource` has one record: the source file and the position in it.
struct DerivedSchema {
    /// The names of the bookkeeping entity and its newest attribute.
    static let sourceEntity = "CoreDataSource"
    private static let ageAttribute = "age"

    let file: CoreDataFile
    let identities: [String: String]
    private(set) var families: [DerivedFamily] = []
    private(set) var oddities: [CoreDataOddity] = []

    init(_ file: CoreDataFile, identities: [String: String]) throws {
        self.file = file
        self.identities = identities
        var names = NameAllocator()
        _ = names.allocate(Self.sourceEntity)
        for root in file.model.entities where root.name == root.root {
            let members = file.model.entities.filter { $0.root == root.name }
            families.append(DerivedFamily(name: names.allocate(root.name), root: root.name, members: members))
        }
        for place in families.indices { try addAttributes(place) }
        for place in families.indices { addReferences(place) }
        for place in families.indices { addOwners(place) }
        for place in families.indices { addTables(place) }
        for place in families.indices { addInverses(place) }
    }

    /// - Parameter target: the schema of an existing store; one of an earlier version has no attribute for the age of its source.
    func plan(for target: Schema? = nil) throws -> CoreDataPlan {
        var attributes: [AttributeShape] = [
            .id, AttributeShape(name: "storeID", kind: .string), AttributeShape(name: "model", kind: .string),
            AttributeShape(name: "identities", kind: .string),
            AttributeShape(name: "transaction", kind: .int, isOptional: true),
        ]
        let known = target?.entities.first { $0.name == Self.sourceEntity }
        if known.map({ $0.position(of: Self.ageAttribute) != nil }) ?? true {
            attributes.append(AttributeShape(name: Self.ageAttribute, kind: .string, isOptional: true))
        }
        let source = EntityShape(name: Self.sourceEntity, attributes: attributes)
        let schema = Schema(shapes: families.map(\.shape) + [source], version: Schema.Version(1, 0, 0))
        try schema.validate()
        let entities = families.enumerated().flatMap { position, family in
            family.members.map { CoreDataPlan.Entity(source: $0, target: position, fields: family.fields(of: $0)) }
        }
        return CoreDataPlan(
            schema: schema,
            entities: entities,
            identities: identities,
            source: families.count,
            oddities: oddities
        )
    }

    private func family(of entity: String) -> Int? {
        guard let root = file.model.entity(entity)?.root else { return nil }
        return families.firstIndex { $0.root == root }
    }

    // MARK: Attributes

    private mutating func addAttributes(_ place: Int) throws {
        var seen: Set<String> = []
        for member in families[place].members {
            for attribute in member.attributes where seen.insert("\(attribute.declaredIn).\(attribute.name)").inserted {
                // The record's id already holds the identity.
                if attribute.name == "id", identities[families[place].root] == "id" { continue }
                let isTexts = try file.holdsTexts(attribute, of: member)
                families[place].add(attribute, isTexts: isTexts)
            }
        }
    }

    // MARK: To-one

    private mutating func addReferences(_ place: Int) {
        var seen: Set<String> = []
        for member in families[place].members {
            for relationship in member.relationships {
                guard !relationship.isToMany, seen.insert("\(relationship.declaredIn).\(relationship.name)").inserted,
                    case .column = relationship.storage
                else { continue }
                if let destination = family(of: relationship.destination) {
                    families[place].addReference(relationship, destination: families[destination].name)
                } else {
                    families[place].addKey(relationship)
                }
                addOrder(place, of: relationship)
            }
        }
    }

    /// Adds the position in the ordered relationship that this one is the inverse of.
    private mutating func addOrder(_ place: Int, of relationship: CoreDataRelationship) {
        guard let inverse = relationship.inverse,
            let other = file.model.entity(relationship.destination)?.relationship(inverse),
            let column = other.orderColumn
        else { return }
        families[place].addNumber("\(relationship.name)Order", column: column, of: relationship.declaredIn)
    }

    // MARK: To-many without an inverse

    private mutating func addOwners(_ place: Int) {
        for member in families[place].members {
            for relationship in member.relationships {
                guard relationship.isToMany, relationship.declaredIn == member.name, relationship.inverse == nil,
                    case .otherSide(let column) = relationship.storage,
                    let other = family(of: relationship.destination)
                else { continue }
                let root = families[place].root
                let name = families[other].addOwner(
                    relationship,
                    column: column,
                    of: member.name,
                    families[place].name,
                    root
                )
                families[place].addMany(relationship, destination: families[other].name, inverse: name)
                families[other].setInverse(of: name, to: families[place].relationshipName(relationship))
                if let order = relationship.orderColumn {
                    families[other].addNumber("\(name)Order", column: order, of: relationship.destination)
                }
            }
        }
    }

    // MARK: Many-to-many

    private mutating func addTables(_ place: Int) {
        for member in families[place].members {
            for relationship in member.relationships {
                guard relationship.declaredIn == member.name,
                    case .table(let table, let here, _) = relationship.storage,
                    let other = family(of: relationship.destination)
                else { continue }
                if relationship.orderColumn != nil { families[place].addLinkOrder(relationship) }
                let isReflexive = here == "REFLEXIVE"
                let inverse = self.inverse(of: relationship, table)
                let mine = "\(relationship.declaredIn).\(relationship.name)"
                if isReflexive || inverse.map({ mine < "\($0.declaredIn).\($0.name)" }) != false {
                    families[place].addLinks(relationship, destination: families[other].name)
                }
            }
        }
    }

    private func inverse(of relationship: CoreDataRelationship, _ table: String) -> CoreDataRelationship? {
        guard let name = relationship.inverse,
            let inverse = file.model.entity(relationship.destination)?.relationship(name),
            case .table(table, _, _) = inverse.storage
        else { return nil }
        return inverse
    }

    // MARK: Inverses

    /// Adds the inverses of stored references and links, if the model has them and they lead back.
    private mutating func addInverses(_ place: Int) {
        for member in families[place].members {
            for relationship in member.relationships where relationship.declaredIn == member.name {
                guard let name = relationship.inverse, relationship.isToMany,
                    let other = family(of: relationship.destination),
                    let inverse = file.model.entity(relationship.destination)?.relationship(name),
                    inverse.inverse == relationship.name,
                    family(of: inverse.destination) == place,
                    let stored = families[other].stored(inverse)
                else { continue }
                if families[place].stored(relationship) != nil { continue }
                let made = families[place].addMany(
                    relationship,
                    destination: families[other].name,
                    inverse: stored,
                    isLinks: inverse.isToMany
                )
                families[other].setInverse(of: stored, to: made)
            }
        }
        // In a one-to-one relationship both sides store a reference; both are kept, and neither is derived from the other.
    }
}

/// A root entity and those that inherit from it, while the schema is derived.
struct DerivedFamily {
    let name: String
    let root: String
    let members: [CoreDataEntity]
    /// The superentity of each member.
    private let parents: [String: String]
    private var attributes: [AttributeShape] = []
    private var relationships: [RelationshipShape] = []
    /// The origin of each attribute, and the member that declares it.
    private var fields: [(declaredIn: String, field: CoreDataPlan.Field)] = []
    private var names = NameAllocator()
    /// The target's names of relationships, by declaring entity and source name.
    private var renamed: [String: String] = [:]

    init(name: String, root: String, members: [CoreDataEntity]) {
        self.name = name
        self.root = root
        self.members = members
        parents = Dictionary(members.compactMap { member in member.superentity.map { (member.name, $0) } }) { one, _ in
            one
        }
        add(.id, .identity, of: root)
        if members.count > 1 {
            add(
                AttributeShape(name: "coreDataEntity", kind: .string, preservesValueOnDeletion: true),
                .entityName,
                of: root
            )
        }
        add(AttributeShape(name: "coreDataKey", kind: .int, preservesValueOnDeletion: true), .key, of: root)
    }

    var shape: EntityShape {
        EntityShape(
            name: name,
            attributes: attributes,
            relationships: relationships,
            indexes: [IndexShape(["coreDataKey"])]
        )
    }

    /// The origins of a member's inherited and declared attributes; attributes of other members are missing.
    func fields(of member: CoreDataEntity) -> [CoreDataPlan.Field] {
        var ancestry: Set<String> = []
        var next: String? = member.name
        // In a damaged file, an entity may inherit from itself.
        while let name = next, ancestry.insert(name).inserted { next = parents[name] }
        return fields.map { ancestry.contains($0.declaredIn) ? $0.field : .missing }
    }

    private mutating func add(_ shape: AttributeShape, _ field: CoreDataPlan.Field, of entity: String) {
        var shape = shape
        shape.name = names.allocate(shape.name)
        attributes.append(shape)
        fields.append((entity, field))
    }

    // MARK: Attributes

    /// Adds an attribute; if its name is taken, the entity's name is prepended.
    mutating func add(_ attribute: CoreDataAttribute, isTexts: Bool) {
        let isAlone = members.contains { member in
            member.name == attribute.declaredIn && member.uniqueness.contains([attribute.name])
        }
        let name = names.isFree(attribute.name) ? attribute.name : "\(attribute.declaredIn).\(attribute.name)"
        let shape = AttributeShape(
            name: name,
            kind: isTexts ? .strings : attribute.type.kind,
            isOptional: true,
            isUnique: isAlone && attribute.declaredIn == root && !isTexts
        )
        add(shape, isTexts ? .texts(attribute.name) : .attribute(attribute.name), of: attribute.declaredIn)
    }

    /// Adds a number from a column of the table.
    mutating func addNumber(_ name: String, column: String, of entity: String) {
        add(AttributeShape(name: name, kind: .int, isOptional: true), .number(column: column), of: entity)
    }

    /// Adds the key of a record whose entity is not in the file.
    mutating func addKey(_ relationship: CoreDataRelationship) {
        let shape = AttributeShape(name: "\(relationship.name)Key", kind: .int, isOptional: true)
        add(shape, .referenceKey(relationship.name), of: relationship.declaredIn)
    }

    // MARK: Relationships

    private mutating func name(for relationship: CoreDataRelationship) -> String {
        let name =
            names.isFree(relationship.name) ? relationship.name : "\(relationship.declaredIn).\(relationship.name)"
        let allocated = names.allocate(name)
        renamed["\(relationship.declaredIn).\(relationship.name)"] = allocated
        return allocated
    }

    /// The target's name of a relationship.
    func relationshipName(_ relationship: CoreDataRelationship) -> String {
        renamed["\(relationship.declaredIn).\(relationship.name)"] ?? relationship.name
    }

    /// The name of a relationship whose reference or links are stored in this entity; nil for others.
    func stored(_ relationship: CoreDataRelationship) -> String? {
        guard let name = renamed["\(relationship.declaredIn).\(relationship.name)"] else { return nil }
        return relationships.contains { $0.name == name && $0.attribute != nil } ? name : nil
    }

    mutating func setInverse(of name: String, to inverse: String) {
        guard let place = relationships.firstIndex(where: { $0.name == name }) else { return }
        relationships[place].inverse = inverse
    }

    private mutating func addStored(
        _ name: String,
        _ kind: RelationshipShape.Kind,
        suffix: String,
        _ field: CoreDataPlan.Field,
        destination: String,
        of entity: String
    ) {
        let attribute = names.allocate(name + suffix)
        attributes.append(
            AttributeShape(name: attribute, kind: kind == .toOne ? .uuid : .links, isOptional: kind == .toOne)
        )
        fields.append((entity, field))
        relationships.append(
            RelationshipShape(
                name: name,
                kind: kind,
                attribute: attribute,
                destination: destination,
                deleteRule: .nullify
            )
        )
    }

    /// Adds a to-one reference.
    mutating func addReference(_ relationship: CoreDataRelationship, destination: String) {
        let name = name(for: relationship)
        addStored(
            name,
            .toOne,
            suffix: "ID",
            .reference(relationship.name),
            destination: destination,
            of: relationship.declaredIn
        )
        set(relationship.deleteRule, of: name)
    }

    /// Adds the inverse of a to-many relationship that has none in the source.
    ///
    /// - Returns: the name of the inverse.
    mutating func addOwner(
        _ relationship: CoreDataRelationship,
        column: String,
        of owner: String,
        _ destination: String,
        _ root: String
    ) -> String {
        let name = names.allocate("\(relationship.name)Of\(owner)")
        addStored(
            name,
            .toOne,
            suffix: "ID",
            .owner(column: column, root: root),
            destination: destination,
            of: relationship.destination
        )
        return name
    }

    /// Adds the links of a many-to-many relationship.
    mutating func addLinks(_ relationship: CoreDataRelationship, destination: String) {
        let name = name(for: relationship)
        addStored(
            name,
            .manyToManyOwner,
            suffix: "IDs",
            .links(relationship.name),
            destination: destination,
            of: relationship.declaredIn
        )
        set(relationship.deleteRule, of: name)
    }

    mutating func addLinkOrder(_ relationship: CoreDataRelationship) {
        let shape = AttributeShape(name: "\(relationship.name)Order", kind: .strings, isOptional: true)
        add(shape, .linkOrder(relationship.name), of: relationship.declaredIn)
    }

    /// Adds a to-many relationship that the other side stores.
    ///
    /// - Returns: the name of the relationship.
    @discardableResult
    mutating func addMany(
        _ relationship: CoreDataRelationship,
        destination: String,
        inverse: String,
        isLinks: Bool = false
    ) -> String {
        let name = name(for: relationship)
        relationships.append(
            RelationshipShape(
                name: name,
                kind: isLinks ? .manyToManyInverse : .toMany,
                destination: destination,
                inverse: inverse
            )
        )
        set(relationship.deleteRule, of: name)
        return name
    }

    private mutating func set(_ rule: String, of name: String) {
        guard let place = relationships.firstIndex(where: { $0.name == name }), let rule = DeleteRule(rawValue: rule)
        else {
            return
        }
        relationships[place].deleteRule = rule
    }
}

extension CoreDataAttributeType {
    /// The kind of attribute that stores values of this type.
    var kind: AttributeKind {
        switch self {
        case .integer16, .integer32, .integer64, .objectID: return .int
        case .decimal, .double, .float: return .double
        case .string, .uri: return .string
        case .boolean: return .bool
        case .date: return .date
        case .uuid: return .uuid
        case .binary, .transformable, .undefined, .composite: return .data
        }
    }
}

/// Allocates names that also differ if case is ignored, as SQLite does.
struct NameAllocator {
    private var taken: Set<String> = []

    /// The name, with as many underscores appended as it takes to make it unique.
    mutating func allocate(_ name: String) -> String {
        var result = name
        while !taken.insert(result.lowercased()).inserted { result += "_" }
        return result
    }

    func isFree(_ name: String) -> Bool { !taken.contains(name.lowercased()) }
}
