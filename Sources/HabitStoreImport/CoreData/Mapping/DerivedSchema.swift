@_spi(Engines) import HabitStore

/// The schema that a Core Data model is brought into when no other is asked for, and the plan of how.
///
/// - Each root entity becomes an entity, and so do all that inherit from it: a reference may lead to any of them. Where there
///   are several, `coreDataEntity` says of which a record is.
/// - `id` is the identity by ``IdentityRule``, `coreDataKey` the key in the table (`Z_PK`).
/// - Attributes keep their names, elements of composites as `composite.element`. All are optional: nothing in a Core Data file
///   keeps a value from being absent. Whole numbers become `int`, decimals, doubles and floats `double`, texts and URIs
///   `string`, dates `date`, UUIDs `uuid`, transformables and binaries `data`; a list of texts that is stored as JSON `strings`.
/// - A to-one relationship `author` is kept in `authorID`. A relationship to many without an inverse, `notes` of `Book`, gets
///   one on the other side: `notesOfBook`. A many-to-many relationship is kept on the side whose name comes first.
/// - The order of an ordered relationship: the other side's `…Order`, the number that Core Data keeps; where a table keeps the
///   links, a list of identifiers on the side that has the order.
/// - `CoreDataSource` holds one record: which file this came from, and how far.
struct DerivedSchema {
    /// The bookkeeping entity's name and attributes.
    static let sourceEntity = "CoreDataSource"
    private static let ageAttribute = "age"

    let file: CoreDataFile
    let identities: [String: String]
    private(set) var families: [DerivedFamily] = []
    private(set) var oddities: [CoreDataOddity] = []

    /// Derives the schema of a file.
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

    /// The plan.
    ///
    /// - Parameter target: the schema of the store that there is already; one of an earlier version does not know how old
    ///   its source was.
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
                // The identity is in the record's id already.
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

    /// The place among the others of an ordered relationship, whose inverse this is.
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

    // MARK: Ways back

    /// Gives stored references and links their other side, where the model has one and it leads back.
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
        // One-to-one: both sides hold a reference; each is kept, and neither is derived from the other.
    }
}
