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
