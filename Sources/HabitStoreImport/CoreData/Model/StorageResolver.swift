import HabitStore

/// Finds the columns of attributes and references, and the tables of many-to-many relationships.
struct StorageResolver {
    private let connection: SourceConnection
    private let tables: StoreTables
    private(set) var oddities: [CoreDataOddity] = []

    init(_ connection: SourceConnection, _ tables: StoreTables) {
        self.connection = connection
        self.tables = tables
    }

    /// Fills in where everything of a model is kept.
    mutating func resolve(_ model: inout CoreDataModel) throws {
        for root in Set(model.entities.map(\.root)).sorted() { try resolveColumns(of: root, &model) }
        for position in model.entities.indices {
            for place in model.entities[position].relationships.indices {
                resolveRelationship(position, place, &model)
            }
        }
    }

    // MARK: Columns

    private mutating func resolveColumns(of root: String, _ model: inout CoreDataModel) throws {
        let family = model.entities.filter { $0.root == root }
        guard let table = family.first?.table else { return }
        var claims: [ColumnClaim] = []
        for entity in family {
            let numbers = model.family(of: entity.name).map(\.number)
            let alone = Set(entity.uniqueness.filter { $0.count == 1 }.flatMap { $0 })
            var own: [(key: String, claim: ColumnClaim)] = []
            for attribute in entity.attributes where attribute.declaredIn == entity.name {
                // The elements of a composite keep their order, in its place.
                let key = attribute.name.split(separator: ".").first.map(String.init) ?? attribute.name
                own.append((key, Self.claim(attribute, entity.name, numbers, isUnique: alone.contains(attribute.name))))
            }
            for relationship in entity.relationships
            where relationship.declaredIn == entity.name && !relationship.isToMany {
                own.append((relationship.name, Self.claim(relationship, entity.name, numbers)))
            }
            claims += own.enumerated().sorted { ($0.element.key, $0.offset) < ($1.element.key, $1.offset) }
                .map(\.element.claim)
        }
        var resolver = ColumnResolver(connection, tables, table: table)
        let columns = try resolver.resolve(claims)
        oddities += resolver.oddities
        for (claim, column) in zip(claims, columns) { set(column, claim, &model) }
    }

    private static func claim(
        _ attribute: CoreDataAttribute,
        _ entity: String,
        _ numbers: [Int],
        isUnique: Bool
    ) -> ColumnClaim {
        ColumnClaim(
            entity: entity,
            property: attribute.name,
            base: attribute.baseColumn,
            columnType: attribute.isGuessed ? nil : attribute.type.columnType,
            numbers: numbers,
            isRequired: !attribute.isOptional && !attribute.isGuessed,
            isUUID: attribute.type == .uuid && !attribute.isGuessed,
            isUnique: isUnique
        )
    }

    private static func claim(
        _ relationship: CoreDataRelationship,
        _ entity: String,
        _ numbers: [Int]
    ) -> ColumnClaim {
        ColumnClaim(
            entity: entity,
            property: relationship.name,
            base: relationship.baseColumn,
            columnType: "INTEGER",
            numbers: numbers,
            isRequired: false,
            isUUID: false,
            isUnique: false
        )
    }

    /// Gives a column to a property of the entity that declares it, and of those that inherit it.
    private func set(_ column: String?, _ claim: ColumnClaim, _ model: inout CoreDataModel) {
        for position in model.entities.indices {
            if let place = model.entities[position].attributes.firstIndex(where: {
                $0.name == claim.property && $0.declaredIn == claim.entity
            }) {
                model.entities[position].attributes[place].column = column
            }
            guard let column,
                let place = model.entities[position].relationships.firstIndex(where: {
                    $0.name == claim.property && $0.declaredIn == claim.entity && !$0.isToMany
                })
            else { continue }
            let relationship = model.entities[position].relationships[place]
            let number = model.entity(relationship.destination)?.number ?? 0
            let suffix = column.dropFirst(relationship.baseColumn.count)
            let second = "Z\(number)_\(relationship.baseColumn.dropFirst())\(suffix)"
            model.entities[position].relationships[place].storage = .column(
                column,
                entityColumn: tables.has(second, in: model.entities[position].table) ? second : nil
            )
        }
    }

    // MARK: Relationships to many

    private mutating func resolveRelationship(_ position: Int, _ place: Int, _ model: inout CoreDataModel) {
        let entity = model.entities[position]
        var relationship = entity.relationships[place]
        guard relationship.isToMany else { return }
        let destination = model.entity(relationship.destination)
        let inverse = relationship.inverse.flatMap { destination?.relationship($0) }
        if let inverse, inverse.isToMany {
            resolveTable(&relationship, inverse, model)
        } else if case .column(let column, _)? = inverse?.storage {
            relationship.storage = .otherSide(column: column)
        } else if relationship.inverse == nil, let destination, let owner = model.entity(relationship.declaredIn) {
            let column = "Z\(owner.number)\(relationship.name.uppercased())"
            let found = tables.columns[destination.table, default: []].first { $0.name.isNumbered(column) }
            if let found { relationship.storage = .otherSide(column: found.name) }
        }
        if case .otherSide(let column) = relationship.storage, let destination {
            let order = "Z_FOK_\(column.dropFirst())"
            if tables.has(order, in: destination.table) { relationship.orderColumn = order }
        }
        if relationship.storage == .missing, relationship.declaredIn == entity.name {
            oddities.append(
                CoreDataOddity(
                    destination == nil ? "destinationElsewhere" : "relationshipMissing",
                    destination == nil
                        ? "\(entity.name).\(relationship.name) leads to \(relationship.destination), which is not in the file"
                        : "where \(entity.name).\(relationship.name) is kept was not found",
                    entity: entity.name,
                    property: relationship.name
                )
            )
        }
        model.entities[position].relationships[place] = relationship.ordered()
    }

    private mutating func resolveTable(
        _ relationship: inout CoreDataRelationship,
        _ inverse: CoreDataRelationship,
        _ model: CoreDataModel
    ) {
        guard let here = model.entity(relationship.declaredIn)?.number,
            let there = model.entity(inverse.declaredIn)?.number
        else { return }
        let isReflexive = relationship.name == inverse.name && here == there
        let wanted = (
            here: isReflexive ? "REFLEXIVE" : "Z_\(here)\(inverse.name.uppercased())",
            there: "Z_\(there)\(relationship.name.uppercased())"
        )
        var found: [(score: Int, storage: CoreDataRelationship.Storage, order: String?)] = []
        for (table, columns) in tables.columns where table.hasPrefix("Z_") {
            let names = columns.map(\.name)
            for left in names where left.isNumbered(wanted.here) {
                for right in names where right != left && right.isNumbered(wanted.there) {
                    let score = (left == wanted.here ? 2 : 0) + (right == wanted.there ? 1 : 0)
                    let order = "Z_FOK_\(right.dropFirst(2))"
                    found.append(
                        (score, .table(table, here: left, there: right), names.contains(order) ? order : nil)
                    )
                }
            }
        }
        guard let best = found.map(\.score).max() else { return }
        let chosen = found.filter { $0.score == best }
        relationship.storage = chosen[0].storage
        relationship.orderColumn = chosen[0].order
        guard chosen.count > 1 else { return }
        oddities.append(
            CoreDataOddity(
                "tableUncertain",
                "\(chosen.count) tables could keep \(relationship.declaredIn).\(relationship.name)",
                entity: relationship.declaredIn,
                property: relationship.name,
                count: chosen.count
            )
        )
    }
}

extension String {
    /// Whether this is a name, or the name with a number behind it.
    func isNumbered(_ name: String) -> Bool {
        hasPrefix(name) && dropFirst(name.count).allSatisfy(\.isNumber)
    }
}

extension CoreDataRelationship {
    /// The relationship, called ordered where the file keeps an order.
    fileprivate func ordered() -> CoreDataRelationship {
        guard orderColumn != nil, !isOrdered else { return self }
        var copy = CoreDataRelationship(
            name: name,
            destination: destination,
            inverse: inverse,
            isToMany: isToMany,
            isOrdered: true,
            isOptional: isOptional,
            deleteRule: deleteRule,
            declaredIn: declaredIn,
            isGuessed: isGuessed
        )
        copy.storage = storage
        copy.orderColumn = orderColumn
        return copy
    }
}
