@_spi(Engines) import HabitStore

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
