import Foundation
@_spi(Engines) import HabitStore

/// Reads the rows of a mapped file, and makes records of them.
final class TableRows {
    /// An oddity of a value.
    enum Problem: Hashable {
        /// It does not have its form.
        case noForm
        /// It is NULL, or means nil, and the attribute is never nil.
        case missing
        /// It would be written in another form than it has.
        case rewritten
        /// It leads to no row.
        case dangling
    }

    /// A record, and what was odd about the values it was made of, by attribute.
    struct Made {
        let id: UUID
        let values: [Value]
        let problems: [(attribute: Int, Problem, SourceValue)]

        /// Whether the record says everything that its row says.
        var isWhole: Bool { !problems.contains { $0.1 == .noForm || $0.1 == .missing } }
    }

    let file: TableFile
    let plan: TablePlan
    private var lookups: [String: SourceStatement] = [:]
    /// By table, what keys mean; the file does not change while it is read.
    private var targets: [String: [[SourceValue]: Target]] = [:]
    private static let mostTargets = 10_000
    private var linkQueries: [String: SourceStatement] = [:]

    init(_ file: TableFile, _ plan: TablePlan) { (self.file, self.plan) = (file, plan) }

    /// Calls `body` with each row of a table, in the order of its key.
    func forEachRow(_ source: TablePlan.Source, _ body: ([SourceValue]) throws -> Void) throws {
        let names = source.columns.map { SourceConnection.quoted($0) }.joined(separator: ", ")
        let order = source.key.map { SourceConnection.quoted(source.columns[$0]) }.joined(separator: ", ")
        let rows = try file.connection.prepare(
            "SELECT \(names) FROM \(SourceConnection.quoted(source.table.name)) ORDER BY \(order)"
        )
        while try rows.step() { try body(source.columns.indices.map { rows.value($0) }) }
    }

    /// The key of a row.
    func key(_ row: [SourceValue], _ source: TablePlan.Source) -> [SourceValue] { source.key.map { row[$0] } }

    /// The record of a row; nil if its key is none.
    func make(_ row: [SourceValue], _ part: TablePlan.Part, of source: TablePlan.Source) throws -> Made? {
        guard let id = plan.identifier(ofRow: row, source) else { return nil }
        let attributes = plan.schema.entities[part.entity].attributes
        var problems: [(attribute: Int, Problem, SourceValue)] = []
        var values: [Value] = []
        values.reserveCapacity(attributes.count)
        for (position, field) in part.fields.enumerated() {
            let attribute = attributes[position]
            func lose(_ stored: SourceValue, _ problem: Problem) -> Value {
                problems.append((position, problem, stored))
                return .null
            }
            switch field {
            case .missing: values.append(attribute.kind == .links ? .links([]) : .null)
            case .identifier(let place):
                values.append(.uuid(id))
                if let place, let form = source.identity?.form,
                    !isSame(form.stored(.uuid(id)), row[place], source.affinities[place])
                {
                    problems.append((position, .rewritten, row[place]))
                }
            case .constant(let value): values.append(value)
            case .column(let place, let form, let nulls):
                let stored = row[place]
                if stored.isNull || nulls.contains(where: { stored.matches($0) }) {
                    values.append(attribute.isOptional ? .null : lose(stored, .missing))
                } else if let value = form.value(stored, as: attribute.kind), let normal = try? value.normalized() {
                    values.append(normal)
                    if !isSame(form.stored(normal), stored, source.affinities[place]) {
                        problems.append((position, .rewritten, stored))
                    }
                } else {
                    values.append(lose(stored, .noForm))
                }
            case .cases(let place, let cases, let nulls):
                let stored = row[place]
                if stored.isNull || nulls.contains(where: { stored.matches($0) }) {
                    values.append(attribute.isOptional ? .null : lose(stored, .missing))
                } else {
                    values.append(
                        stored.code.flatMap { code in cases.first { $0.key.utf8.elementsEqual(code.utf8) }?.value }
                            ?? lose(stored, .noForm)
                    )
                }
            case .reference(let places, let table):
                let key = places.map { row[$0] }
                if key.contains(.null) {
                    values.append(attribute.isOptional ? .null : lose(.null, .missing))
                    if let part = key.first(where: { !$0.isNull }) { problems.append((position, .dangling, part)) }
                } else if let (id, isThere) = try target(key, in: table) {
                    values.append(.uuid(id))
                    if !isThere { problems.append((position, .dangling, key[0])) }
                } else {
                    values.append(lose(key[0], .noForm))
                }
            case .links(let links):
                var ids: [UUID] = []
                for key in try linked(self.key(row, source), links, of: source) {
                    guard let (id, isThere) = try target(key, in: links.leadsTo) else {
                        problems.append((position, .noForm, key.first ?? .null))
                        continue
                    }
                    ids.append(id)
                    if !isThere { problems.append((position, .dangling, key.first ?? .null)) }
                }
                values.append(try Value.links(ids).normalized())
            }
        }
        return Made(id: id, values: values, problems: problems)
    }

    /// Whether a column would hold the same after a value was written back.
    private func isSame(_ written: SourceValue?, _ stored: SourceValue, _ affinity: TableFile.Affinity) -> Bool {
        guard let kept = written?.stored(in: affinity) else { return false }
        // Texts of other characters can be equal in Swift.
        if case .text(let one) = kept, case .text(let other) = stored { return one.utf8.elementsEqual(other.utf8) }
        return kept == stored
    }

    // MARK: Keys

    /// How many rows of a table of links say what another one says: a link is there once.
    func countRepeated(_ links: TablePlan.LinkTable) throws -> Int64 {
        let columns = (links.here + links.there).map { SourceConnection.quoted($0) }.joined(separator: ", ")
        let table = SourceConnection.quoted(links.table)
        return try file.connection.int(
            "SELECT (SELECT count(*) FROM \(table)) - (SELECT count(*) FROM (SELECT DISTINCT \(columns) FROM \(table)))"
        ) ?? 0
    }

    /// Calls `body` with the columns `here` and `there` of each row of a table of links, in their order.
    func forEachLink(_ links: TablePlan.LinkTable, _ body: ([SourceValue]) throws -> Void) throws {
        let columns = (links.here + links.there).map { SourceConnection.quoted($0) }.joined(separator: ", ")
        let rows = try file.connection.prepare(
            "SELECT \(columns) FROM \(SourceConnection.quoted(links.table)) ORDER BY \(columns)"
        )
        while try rows.step() { try body((links.here + links.there).indices.map { rows.value($0) }) }
    }

    /// Calls `body` with the columns `here` and `there` of each row of a table of links that belongs to no row of its owner.
    func forEachOwnerless(
        _ links: TablePlan.LinkTable,
        _ source: TablePlan.Source,
        _ body: ([SourceValue]) throws -> Void
    ) throws {
        let pairs = zip(links.here, source.key).map { here, place in
            "owner.\(SourceConnection.quoted(source.columns[place])) = link.\(SourceConnection.quoted(here))"
        }
        let columns = links.here + links.there
        let rows = try file.connection.prepare(
            "SELECT \(columns.map { "link.\(SourceConnection.quoted($0))" }.joined(separator: ", ")) "
                + "FROM \(SourceConnection.quoted(links.table)) AS link WHERE NOT EXISTS "
                + "(SELECT 1 FROM \(SourceConnection.quoted(source.table.name)) AS owner WHERE \(pairs.joined(separator: " AND ")))"
        )
        while try rows.step() { try body(columns.indices.map { rows.value($0) }) }
        guard source.parts.count > 1 else { return }
        // The owner may become a record that has no such links.
        let owned = try file.connection.prepare(
            "SELECT \((columns.map { "link.\(SourceConnection.quoted($0))" } + source.columns.map { "owner.\(SourceConnection.quoted($0))" }).joined(separator: ", ")) "
                + "FROM \(SourceConnection.quoted(links.table)) AS link JOIN \(SourceConnection.quoted(source.table.name)) AS owner "
                + "ON \(pairs.joined(separator: " AND "))"
        )
        while try owned.step() {
            let row = source.columns.indices.map { owned.value(columns.count + $0) }
            guard let part = source.parts(of: row).parts.first, !part.hasLinks(of: links) else { continue }
            try body(columns.indices.map { owned.value($0) })
        }
    }

    /// The identifier that a reference means, and whether its row is there. SQLite compares, so that a text `7` finds the number, and the
    /// column's collation holds.
    private func target(_ key: [SourceValue], in table: String) throws -> Target? {
        // Texts in two Unicode forms are equal in Swift, and not in the file.
        let isKept = key.allSatisfy(\.isNumberOrASCII)
        if isKept, let known = targets[table]?[key] { return known }
        guard let source = plan.source(table) else { return nil }
        let found: Target?
        if let row = try row(key, of: source) {
            found = plan.identifier(ofRow: row, source).map {
                ($0, !source.parts(of: row).parts.isEmpty)
            }
        } else {
            found = plan.identifier(key, of: source).map { ($0, false) }
        }
        guard isKept, let found else { return found }
        if targets[table]?.count ?? 0 >= Self.mostTargets { targets[table] = [:] }
        targets[table, default: [:]][key] = found
        return found
    }

    private typealias Target = (id: UUID, isThere: Bool)

    /// The row with a key; nil if there is none.
    func row(_ key: [SourceValue], of source: TablePlan.Source) throws -> [SourceValue]? {
        let lookup = try lookups[source.table.name] ?? keyLookup(source)
        lookups[source.table.name] = lookup
        try lookup.bind(key)
        return try lookup.step() ? source.columns.indices.map { lookup.value($0) } : nil
    }

    private func keyLookup(_ source: TablePlan.Source) throws -> SourceStatement {
        let columns = source.key.map { SourceConnection.quoted(source.columns[$0]) }
        let conditions = columns.enumerated().map { "\($1) = ?\($0 + 1)" }.joined(separator: " AND ")
        let table = SourceConnection.quoted(source.table.name)
        let names = source.columns.map { SourceConnection.quoted($0) }.joined(separator: ", ")
        return try file.connection.prepare("SELECT \(names) FROM \(table) WHERE \(conditions) LIMIT 1")
    }

    /// The keys that a table of links has for a row. SQLite joins the tables, so that the columns' affinities and the key's collation hold.
    func linked(_ key: [SourceValue], _ links: TablePlan.LinkTable, of source: TablePlan.Source) throws
        -> [[SourceValue]]
    {
        let name = ([source.table.name, links.table] + links.here + [""] + links.there).joined(separator: "\u{0}")
        let query = try linkQueries[name] ?? linkQuery(links, source)
        linkQueries[name] = query
        try query.bind(key)
        var result: [[SourceValue]] = []
        while try query.step() { result.append(links.there.indices.map { query.value($0) }) }
        return result
    }

    private func linkQuery(_ links: TablePlan.LinkTable, _ source: TablePlan.Source) throws -> SourceStatement {
        let owner = source.key.map { "owner.\(SourceConnection.quoted(source.columns[$0]))" }
        let pairs = zip(owner, links.here).map { "\($0) = link.\(SourceConnection.quoted($1))" }
        let conditions = owner.enumerated().map { "\($1) = ?\($0 + 1)" }
        let there = links.there.map { "link.\(SourceConnection.quoted($0))" }.joined(separator: ", ")
        return try file.connection.prepare(
            "SELECT \(there) FROM \(SourceConnection.quoted(source.table.name)) AS owner "
                + "JOIN \(SourceConnection.quoted(links.table)) AS link ON \(pairs.joined(separator: " AND ")) "
                + "WHERE \(conditions.joined(separator: " AND "))"
        )
    }
}

extension SourceValue {
    /// Whether it is a whole number, or a text whose characters have one form each.
    fileprivate var isNumberOrASCII: Bool {
        switch self {
        case .int: true
        case .text(let text): text.utf8.allSatisfy { $0 < 0x80 }
        default: false
        }
    }
}
