import HabitStore

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
        oddities.append(
            CoreDataOddity(
                "columnMissing",
                "\(claim.entity).\(claim.property) has no column in \(table)",
                entity: claim.entity,
                property: claim.property
            )
        )
    }

    private mutating func checkType(_ claim: ColumnClaim, _ column: String) {
        guard let type = claim.columnType,
            let declared = tables.columns[table, default: []].first(where: { $0.name == column })?.declaredType,
            declared != type
        else { return }
        oddities.append(
            CoreDataOddity(
                "columnType",
                "\(claim.entity).\(claim.property) is declared as \(declared) in \(table), and should be \(type)",
                entity: claim.entity,
                property: claim.property
            )
        )
    }

    private mutating func uncertain(_ claims: [ColumnClaim], _ group: [Int], _ reason: String) {
        let names = group.map { "\(claims[$0].entity).\(claims[$0].property)" }.joined(separator: ", ")
        oddities.append(
            CoreDataOddity(
                "columnUncertain",
                "which column of \(table) belongs to which of \(names) is not certain: \(reason)",
                count: group.count
            )
        )
    }
}
