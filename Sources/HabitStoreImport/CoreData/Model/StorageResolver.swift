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

extension StorageResolver {
    mutating func resolveRelationship(_ position: Int, _ place: Int, _ model: inout CoreDataModel) {
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
            oddities.note(
                destination == nil ? "destinationElsewhere" : "relationshipMissing",
                destination == nil
                    ? "\(entity.name).\(relationship.name) leads to \(relationship.destination), which is not in the file"
                    : "where \(entity.name).\(relationship.name) is kept was not found",
                entity: entity.name,
                property: relationship.name
            )
        }
        if relationship.orderColumn != nil { relationship.isOrdered = true }
        model.entities[position].relationships[place] = relationship
    }

    mutating func resolveTable(
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
        oddities.note(
            "tableUncertain",
            "\(chosen.count) tables could keep \(relationship.declaredIn).\(relationship.name)",
            entity: relationship.declaredIn,
            property: relationship.name,
            count: chosen.count
        )
    }
}

/// Finds the column of each attribute in a table.
///
/// Core Data names a column after the attribute, in capitals after a Z, and appends 1, 2, … if the name is taken by the same attribute of a
/// sibling or by an element of a composite. In the files examined, names are assigned entity by entity in the order of their numbers, and
/// within an entity in the order of the properties' names, with a composite's elements in its place. This rule is checked against the file:
/// a column has its attribute's type, no values in other entities' records, a value in each record that must have one, 16 bytes for a UUID,
/// and a unique index if one was declared. If only one assignment satisfies these facts, it is used; if several do, the rule decides, and
/// the result is reported as uncertain.
struct ColumnResolver {
    private let connection: SourceConnection
    private let tables: StoreTables
    private let table: String
    private(set) var oddities: [CoreDataOddity] = []

    private static let largestGroup = 12

    init(_ connection: SourceConnection, _ tables: StoreTables, table: String) {
        self.connection = connection
        self.tables = tables
        self.table = table
    }

    /// The column of each claim, in the order of the claims; nil if there is none.
    ///
    /// - Parameter claims: the claims in the order in which Core Data assigns names.
    mutating func resolve(_ claims: [ColumnClaim]) throws -> [String?] {
        var result = followRule(claims)
        let groups = Dictionary(grouping: claims.indices, by: { claims[$0].base })
        for base in groups.keys.sorted() {
            let group = groups[base, default: []]
            if group.count > 1 {
                try resolve(group, claims, &result)
            } else if let only = group.first, result[only] == nil {
                missing(claims[only])
            } else if let only = group.first, let column = result[only] {
                checkType(claims[only], column)
            }
        }
        return result
    }

    private func followRule(_ claims: [ColumnClaim]) -> [String?] {
        let names = Set(tables.columns[table, default: []].map(\.name))
        var taken: Set<String> = []
        return claims.map { claim in
            var name = claim.base
            var number = 0
            while taken.contains(name), number <= claims.count {
                number += 1
                name = "\(claim.base)\(number)"
            }
            guard names.contains(name) else { return nil }
            taken.insert(name)
            return name
        }
    }

    private mutating func resolve(_ group: [Int], _ claims: [ColumnClaim], _ result: inout [String?]) throws {
        let byRule = group.map { result[$0] }
        let columns = byRule.compactMap { $0 }
        guard columns.count == group.count else {
            for (index, column) in zip(group, byRule) where column == nil { missing(claims[index]) }
            return
        }
        guard group.count <= Self.largestGroup else { return uncertain(claims, group, "there are too many of them") }
        let possible = try group.map { index in try columns.map { try fits(claims[index], $0) } }
        let ways = Self.ways(possible, limit: 2)
        let isRulePossible = group.indices.allSatisfy { possible[$0][$0] }
        if isRulePossible, ways.count == 1 { return }
        if isRulePossible { return uncertain(claims, group, "the file's contents fit in more than one way") }
        if let way = ways.first, ways.count == 1 {
            for (position, index) in group.enumerated() { result[index] = columns[way[position]] }
            return
        }
        uncertain(
            claims,
            group,
            ways.isEmpty ? "the file's contents fit in no way" : "the file's contents fit in more than one way"
        )
    }

    /// Up to `limit` assignments of distinct columns to all claims.
    private static func ways(_ possible: [[Bool]], limit: Int) -> [[Int]] {
        var found: [[Int]] = []
        var chosen: [Int] = []
        var budget = 200_000
        func go() {
            budget -= 1
            guard found.count < limit, budget > 0 else { return }
            if chosen.count == possible.count { return found.append(chosen) }
            for column in possible[chosen.count].indices
            where possible[chosen.count][column] && !chosen.contains(column) {
                chosen.append(column)
                go()
                chosen.removeLast()
            }
        }
        go()
        return found
    }

    // MARK: Evidence in the file

    private func fits(_ claim: ColumnClaim, _ column: String) throws -> Bool {
        let declared = tables.columns[table, default: []].first { $0.name == column }?.declaredType
        if let type = claim.columnType, let declared, type != declared { return false }
        let unique = tables.uniqueColumns[table, default: []]
        if claim.isUnique, !unique.isEmpty, !unique.contains([column]) { return false }
        let numbers = claim.numbers.map(String.init).joined(separator: ", ")
        let name = SourceConnection.quoted(column)
        if try exists("\(name) NOT NULL AND Z_ENT NOT IN (\(numbers))") { return false }
        if claim.isRequired, try exists("\(name) IS NULL AND Z_ENT IN (\(numbers))") { return false }
        if claim.isUUID, try exists("\(name) NOT NULL AND NOT (typeof(\(name)) = 'blob' AND length(\(name)) = 16)") {
            return false
        }
        return true
    }

    private func exists(_ condition: String) throws -> Bool {
        let statement = try connection.prepare(
            "SELECT 1 FROM \(SourceConnection.quoted(table)) WHERE \(condition) LIMIT 1"
        )
        return try statement.step()
    }

    // MARK: Oddities

    private mutating func missing(_ claim: ColumnClaim) {
        oddities.note(
            "columnMissing",
            "\(claim.entity).\(claim.property) has no column in \(table)",
            entity: claim.entity,
            property: claim.property
        )
    }

    private mutating func checkType(_ claim: ColumnClaim, _ column: String) {
        guard let type = claim.columnType,
            let declared = tables.columns[table, default: []].first(where: { $0.name == column })?.declaredType,
            declared != type
        else { return }
        oddities.note(
            "columnType",
            "\(claim.entity).\(claim.property) is declared as \(declared) in \(table), and should be \(type)",
            entity: claim.entity,
            property: claim.property
        )
    }

    private mutating func uncertain(_ claims: [ColumnClaim], _ group: [Int], _ reason: String) {
        let names = group.map { "\(claims[$0].entity).\(claims[$0].property)" }.joined(separator: ", ")
        oddities.note(
            "columnUncertain",
            "which column of \(table) belongs to which of \(names) is not certain: \(reason)",
            count: group.count
        )
    }
}

/// An attribute or a to-one relationship that needs a column in its table.
struct ColumnClaim {
    /// The entity that declares the property.
    let entity: String
    let property: String
    /// The column's name, without the number that Core Data adds to resolve a conflict.
    let base: String
    /// The declared type of the column; nil for any.
    let columnType: String?
    /// The numbers of the entities whose records may have a value.
    let numbers: [Int]
    /// Whether the records of these entities must have a value.
    let isRequired: Bool
    /// Whether the values are UUIDs.
    let isUUID: Bool
    /// Whether the property alone is declared unique.
    let isUnique: Bool
}
