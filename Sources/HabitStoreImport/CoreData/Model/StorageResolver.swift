import HabitStore

/// Finds the columns of attributes and references, and the link tables of many-to-many relationships.
struct StorageResolver {
    let connection: SourceConnection
    let tables: StoreTables
    var oddities: [CoreDataOddity] = []

    init(_ connection: SourceConnection, _ tables: StoreTables) {
        self.connection = connection
        self.tables = tables
    }

    /// Sets where each property of a model is stored.
    mutating func resolve(_ model: inout CoreDataModel) throws {
        for root in Set(model.entities.map(\.root)).sorted() { try resolveColumns(of: root, &model) }
        for position in model.entities.indices {
            for place in model.entities[position].relationships.indices {
                resolveRelationship(position, place, &model)
            }
        }
    }

    // MARK: Columns

    mutating func resolveColumns(of root: String, _ model: inout CoreDataModel) throws {
        let family = model.entities.filter { $0.root == root }
        guard let table = family.first?.table else { return }
        var claims: [ColumnClaim] = []
        for entity in family {
            let numbers = model.family(of: entity.name).map(\.number)
            let alone = Set(entity.uniqueness.filter { $0.count == 1 }.flatMap { $0 })
            var own: [(key: String, claim: ColumnClaim)] = []
            for attribute in entity.attributes where attribute.declaredIn == entity.name {
                // The elements of a composite keep their order, at the composite's place.
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

    static func claim(
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

    static func claim(
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

    /// Assigns a column to a property, in the declaring entity and in those that inherit it.
    func set(_ column: String?, _ claim: ColumnClaim, _ model: inout CoreDataModel) {
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
}

extension String {
    /// Whether this is `name`, with or without a number after it.
    func isNumbered(_ name: String) -> Bool {
        hasPrefix(name) && dropFirst(name.count).allSatisfy(\.isNumber)
    }
}
