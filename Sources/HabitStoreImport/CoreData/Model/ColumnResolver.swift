import HabitStore

/// Finds out which column belongs to which attribute of a table's entities.
///
/// Core Data names a column after the attribute, in capitals behind a Z, and adds 1, 2, … where the name is taken: by the
/// same attribute of a sibling, or by an element of a composite. In the files that were looked at, the names are given out
/// entity by entity in the order of their numbers, and within an entity in the order of the properties' names, the elements
/// of a composite in its place. That rule is only believed where the file does not contradict it: a column has its
/// attribute's type, values in no other entity's records, a value in each record that must have one, 16 bytes where a UUID
/// stands, and a unique index where one was declared. Where these facts leave one way, it is that; where they leave several,
/// the rule decides, and the result is called uncertain.
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

    /// The column of each claim, in the order of the claims; nil where there is none.
    ///
    /// - Parameter claims: in the order in which Core Data gives out names.
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

    /// The ways of giving each claim a column of its own, up to `limit` of them.
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

    // MARK: What the file says

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
