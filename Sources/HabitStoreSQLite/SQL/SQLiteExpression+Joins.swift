@_spi(Engines) import HabitStore

/// The target of a path: a variable's record and the hops from it.
struct SQLitePlace: Hashable {
    var variable: Int
    var hops: [BoundPath.Hop]
}

/// Semi-joins from the other side: first the related records, by one of their indexes, then the records that refer to them.
///
/// They pay only if the other side is small, and cost a hundred times the correlated form if it is large (measured: 300 ms against
/// 0.5 ms for the habits with an entry since the first day, of 60,000 entries). To decide, the planner counts at most a few hundred
/// entries of the index.
extension SQLiteExpression {
    /// Whether a semi-join is allowed here: NULL must count as false, and it would only slow down a subquery that runs for each row
    /// of another query.
    func canJoin(_ use: Use) -> Bool { probe != nil && use.nullIsFalse && correlation == 0 }

    /// Conditions on one related record, as `habitID IN (SELECT id …)`.
    mutating func semiJoin(_ parts: [BoundExpression], _ use: Use) -> Condition? {
        guard canJoin(use), let place = nextPlace(parts) else { return nil }
        return nested(11) { writer in writer.attempt { $0.references(to: place, parts, use) } }
    }

    private mutating func references(to place: SQLitePlace, _ parts: [BoundExpression], _ use: Use) -> Condition? {
        guard let probe, let hop = place.hops.last, let base = record(at: place.variable, place.hops.dropLast()) else {
            return nil
        }
        let member = Record(table: tables[hop.destination], alias: newAlias())
        places[place] = member
        defer { places[place] = nil }
        guard let inner = conjoined(parts, use) else { return nil }
        let from = "\(member.table.name) AS \(member.alias)"
        guard let count = probe.rows(of: member, inner.tests, join: "", bindings) else { return nil }
        // If many records refer to it, searching the index on the reference would jump about, so the list only filters.
        let drives = probe.isSmallShare(count, of: member.table)
        let column = "\(base.alias).\(base.table.columns[hop.attribute])"
        let sql =
            "\(drives ? "" : "+")\(column) IN (SELECT \(member.alias).\"id\" FROM \(from) "
            + "WHERE \(visit(.related, member.alias))\(inner.sql))"
        let test = SQLiteColumnTest(base.alias, hop.attribute, isPoint: true, sql, by: member, inner.tests)
        return Condition(sql: sql, isExact: inner.isExact, tests: drives ? [test] : [])
    }

    /// Whether any of the related records meets a condition, as `id IN (SELECT habitID …)`.
    mutating func ownersJoin(_ collection: BoundCollection, _ inner: BoundExpression, _ use: Use) -> Condition? {
        guard canJoin(use), let probe, let owner = record(at: collection.path.variable, collection.path.hops[...]),
            inner.freePaths.allSatisfy({ $0.variable == collection.variable })
        else { return nil }
        let member = Record(table: tables[collection.destination], alias: newAlias())
        guard let inner = bound(collection.variable, to: member, { $0.conjoined(inner.conjuncts, use) }) else {
            return nil
        }
        let reference: String
        var join = ""
        switch collection.storage {
        case .referring(let attribute): reference = "\(member.alias).\(member.table.columns[attribute])"
        case .linked(let attribute):
            guard let links = owner.table.links[attribute] else { return nil }
            let link = newAlias()
            join = " JOIN \(links.name) AS \(link) ON \(link).target = \(member.alias).\"id\""
            reference = "\(link).owner"
        case .linking(let attribute):
            guard let links = member.table.links[attribute] else { return nil }
            let link = newAlias()
            join = " JOIN \(links.name) AS \(link) ON \(link).owner = \(member.alias).\"id\""
            reference = "\(link).target"
        }
        guard let count = probe.rows(of: member, inner.tests, join: join, bindings),
            probe.isSmallShare(count, of: owner.table)
        else { return nil }
        let sql =
            "\(owner.alias).\"id\" IN (SELECT \(reference) FROM \(member.table.name) AS \(member.alias)\(join) "
            + "WHERE \(visit(.related, member.alias))\(inner.sql))"
        let test = SQLiteColumnTest(owner.alias, 0, isPoint: true, sql, by: member, inner.tests)
        return Condition(sql: sql, isExact: inner.isExact, tests: [test])
    }

    private mutating func conjoined(_ parts: [BoundExpression], _ use: Use) -> Condition? {
        subqueries += 1
        defer { subqueries -= 1 }
        let found = conditions(parts, use)
        let translated = found.compactMap(\.condition)
        guard !translated.isEmpty, translated.count == found.count || use.allowsSuperset else { return nil }
        return Condition(
            sql: translated.map(\.sql).joined(separator: " AND "),
            isExact: translated.count == found.count && translated.allSatisfy(\.isExact),
            tests: translated.flatMap(\.tests)
        )
    }

    /// Runs a translation with a variable bound to another record.
    mutating func bound<T>(_ variable: Int, to record: Record, _ body: (inout SQLiteExpression) -> T?) -> T? {
        let (outer, outerPlaces) = (variables[variable], places)
        variables[variable] = record
        places = places.filter { $0.key.variable != variable }
        defer { (variables[variable], places) = (outer, outerPlaces) }
        return body(&self)
    }

    // MARK: Paths

    /// The last record of a path that is already known, and the hops that are left from there.
    func resolve(_ path: BoundPath) -> (record: Record, rest: ArraySlice<BoundPath.Hop>)? {
        if !places.isEmpty {
            for count in stride(from: path.hops.count, to: 0, by: -1) {
                let place = SQLitePlace(variable: path.variable, hops: Array(path.hops.prefix(count)))
                if let record = places[place] { return (record, path.hops.dropFirst(count)) }
            }
        }
        return variables[path.variable].map { ($0, path.hops[...]) }
    }

    /// The record at the end of a path, if it is already known.
    private func record(at variable: Int, _ hops: ArraySlice<BoundPath.Hop>) -> Record? {
        hops.isEmpty ? variables[variable] : places[SQLitePlace(variable: variable, hops: Array(hops))]
    }

    /// The related record that all paths in the conditions reach first, if it is the same for all and no condition holds without
    /// it.
    func nextPlace(_ parts: [BoundExpression]) -> SQLitePlace? {
        var place: SQLitePlace?
        for part in parts {
            // Fast path: most conditions do not leave the record.
            if case .compare(_, .attribute(let path, _, _, _), _) = part, path.hops.isEmpty { return nil }
            guard part.needsRecords else { return nil }
            for path in part.freePaths {
                guard let rest = resolve(path)?.rest, !rest.isEmpty else { return nil }
                let next = SQLitePlace(
                    variable: path.variable,
                    hops: Array(path.hops.prefix(path.hops.count - rest.count + 1))
                )
                guard place == nil || place == next else { return nil }
                place = next
            }
        }
        return place
    }
}

extension BoundExpression {
    /// The parts of a conjunction.
    var conjuncts: [BoundExpression] {
        if case .and(let parts) = self { return parts.flatMap(\.conjuncts) }
        return [self]
    }

    /// The paths that start outside the expression.
    var freePaths: [BoundPath] {
        switch self {
        case .attribute(let path, _, _, _), .exists(let path): return [path]
        case .some(let collection, let inner), .every(let collection, let inner), .count(let collection, let inner):
            return [collection.path] + inner.freePaths.filter { $0.variable != collection.variable }
        default:
            var paths: [BoundPath] = []
            forEachChild { paths += $0.freePaths }
            return paths
        }
    }

    /// Whether it is false if its paths lead to no record, as far as can be seen here.
    fileprivate var needsRecords: Bool {
        switch self {
        case .attribute, .exists, .some: return true
        case .compare(let comparison, let left, let right):
            switch comparison {
            case .less, .lessOrEqual, .greater, .greaterOrEqual: return left.isAttribute || right.isAttribute
            case .equal: return left.isAttribute && right.isConstant || left.isConstant && right.isAttribute
            case .notEqual:
                let null = BoundExpression.literal(.null)
                return left.isAttribute && right == null || left == null && right.isAttribute
            }
        case .isIn(let member, let values): return member.isAttribute && !values.contains(.null)
        case .text(_, let text, _): return text.isAttribute
        case .and(let parts): return parts.contains(where: \.needsRecords)
        case .or(let parts): return !parts.isEmpty && parts.allSatisfy(\.needsRecords)
        case .literal, .not, .every, .count, .length, .coalesce, .conditional, .least, .greatest,
            .caseInsensitiveOrder, .arithmetic:
            return false
        }
    }

    private var isAttribute: Bool { if case .attribute = self { true } else { false } }

    /// Whether it is a constant other than nil.
    private var isConstant: Bool { if case .literal(let value) = self { !value.isNull } else { false } }
}

/// A condition on one column that an index can answer.
struct SQLiteColumnTest: Sendable {
    /// The table's alias and the attribute's position.
    let alias: String
    let position: Int
    /// Whether it names values rather than a range.
    let isPoint: Bool
    let sql: String
    /// For a semi-join, the table whose records are looked up first, and the conditions on them.
    let source: SQLiteExpression.Record?
    let sourceTests: [SQLiteColumnTest]

    init(
        _ alias: String,
        _ position: Int,
        isPoint: Bool,
        _ sql: String,
        by source: SQLiteExpression.Record? = nil,
        _ sourceTests: [SQLiteColumnTest] = []
    ) {
        self.alias = alias
        self.position = position
        self.isPoint = isPoint
        self.sql = sql
        self.source = source
        self.sourceTests = sourceTests
    }
}

extension SQLiteExpression {
    /// The condition as a test of one column of the record at hand, if it is one.
    func columnTest(_ expression: BoundExpression, _ sql: String) -> SQLiteColumnTest? {
        let tested: BoundExpression
        let isPoint: Bool
        switch expression {
        case .compare(let comparison, let left, let right):
            guard comparison != .notEqual else { return nil }
            switch (left, right) {
            case (.attribute, .literal(let value)), (.literal(let value), .attribute):
                guard comparison == .equal || !value.isNull else { return nil }
            default: return nil
            }
            if case .attribute = left { tested = left } else { tested = right }
            isPoint = comparison == .equal
        case .isIn(let member, let values):
            guard !values.isEmpty, !values.contains(.null) else { return nil }
            (tested, isPoint) = (member, true)
        case .text(.beginsWith, let text, .literal(.string(let prefix))):
            guard !prefix.isEmpty else { return nil }
            (tested, isPoint) = (text, false)
        case .attribute: (tested, isPoint) = (expression, true)
        default: return nil
        }
        guard case .attribute(let path, let position, _, _) = tested, let (record, rest) = resolve(path), rest.isEmpty
        else { return nil }
        return SQLiteColumnTest(record.alias, position, isPoint: isPoint, sql)
    }

    /// Ranges that cover all alternatives of a disjunction. They let an index start a page after `(date, id)` without reading what
    /// comes before it. Nil if there are none, or if they would not help.
    mutating func hull(of parts: [BoundExpression]) -> [SQLiteColumnTest]? {
        guard correlation == 0, let root = variables[0], root.alias == "t0" else { return nil }
        var hull: [Int: SQLiteBounds]?
        for part in parts.flatMap(\.disjuncts) {
            guard let bounds = SQLiteBounds.of(part, root.table) else { continue }
            guard let known = hull else {
                hull = bounds
                continue
            }
            var both: [Int: SQLiteBounds] = [:]
            for (position, first) in known {
                guard let second = bounds[position] else { continue }
                both[position] = first.hull(with: second)
            }
            hull = both
        }
        var tests: [SQLiteColumnTest] = []
        for (position, bounds) in (hull ?? [:]).sorted(by: { $0.key < $1.key }) where !bounds.isPoint {
            guard isComparable(root.table.description.attributes[position].kind) else { continue }
            let column = "t0.\(root.table.columns[position])"
            for (symbol, bound) in [(">=", bounds.lower), ("<=", bounds.upper)] {
                guard let bound, let place = literal(bound) else { continue }
                tests.append(SQLiteColumnTest("t0", position, isPoint: false, "\(column) \(symbol) \(place)"))
            }
        }
        return tests.isEmpty ? nil : tests
    }
}

/// The bounds of an attribute's values; nil for an open end.
private struct SQLiteBounds {
    var lower: Value?
    var upper: Value?
    /// Whether all comparisons were with single values.
    var isPoint: Bool

    /// The bounds that a condition sets for each attribute of the fetched record; nil if it never holds.
    static func of(_ condition: BoundExpression, _ table: SQLiteTable) -> [Int: SQLiteBounds]? {
        var bounds: [Int: SQLiteBounds] = [:]
        for part in condition.conjuncts {
            guard let (position, comparison, value) = part.rootComparison else { continue }
            if value.isNull {
                if comparison == .equal, !table.description.attributes[position].isOptional { return nil }
                continue
            }
            if case .double(let number) = value, number.isNaN { continue }
            var known = bounds[position] ?? SQLiteBounds(isPoint: true)
            switch comparison {
            case .equal: (known.lower, known.upper) = (value, value)
            case .greater, .greaterOrEqual: (known.lower, known.isPoint) = (known.lower ?? value, false)
            case .less, .lessOrEqual: (known.upper, known.isPoint) = (known.upper ?? value, false)
            case .notEqual: continue
            }
            bounds[position] = known
        }
        return bounds
    }

    func hull(with other: SQLiteBounds) -> SQLiteBounds {
        SQLiteBounds(
            lower: Self.outer(lower, other.lower) { $0 <= 0 },
            upper: Self.outer(upper, other.upper) { $0 >= 0 },
            isPoint: isPoint && other.isPoint
        )
    }

    private static func outer(_ first: Value?, _ second: Value?, _ prefersFirst: (Int) -> Bool) -> Value? {
        guard let first, let second else { return nil }
        return prefersFirst(first.order(comparedWith: second)) ? first : second
    }
}

extension BoundExpression {
    /// The alternatives of a disjunction.
    fileprivate var disjuncts: [BoundExpression] {
        if case .or(let parts) = self { return parts.flatMap(\.disjuncts) }
        return [self]
    }
}

extension SQLiteTable {
    /// The index that answers most of the given conditions on one record, all of which must hold, and the conditions that it
    /// answers.
    func index(for tests: [SQLiteColumnTest]) -> (index: IndexKeys, tests: [SQLiteColumnTest])? {
        var best: (index: IndexKeys, columns: Int)?
        for index in indexKeys {
            var columns = 0
            for position in index.positions {
                guard tests.contains(where: { $0.position == position }) else { break }
                columns += 1
                guard tests.contains(where: { $0.position == position && $0.isPoint }) else { break }
            }
            if columns > best?.columns ?? 0 { best = (index, columns) }
        }
        guard let best else { return nil }
        let used = best.index.positions.prefix(best.columns)
        return (best.index, used.flatMap { position in tests.filter { $0.position == position } })
    }
}

/// Counts the entries of index ranges up to a limit, to decide which of two access paths is shorter.
struct SQLiteProbe {
    /// The maximum length of a list from the other side of a relationship.
    private static let longestList = 256
    /// Such a list must select less than one in this many records.
    static let leastShare = 16
    /// The number of entries counted to find out if a range is small.
    private static let longestRange = 1_024
    /// Estimates are counted up to this number.
    static let longestCount = 10_000

    let connection: SQLiteConnection
    /// ``leastShare``, or another value in tests.
    var share = leastShare

    /// The number of records that meet conditions that an index answers; nil if no index does, or if there are many.
    ///
    /// A failed count is ignored: the query itself reads the same page and reports what is wrong with it.
    func rows(
        of record: SQLiteExpression.Record,
        _ tests: [SQLiteColumnTest],
        join: String,
        _ bindings: [Value]
    ) -> Int? {
        guard let found = record.table.index(for: tests.filter { $0.alias == record.alias }) else { return nil }
        let source = Self.source(record, found.index, join: join, found.tests)
        guard let count = try? count(source, limit: Self.longestList + 1, bindings) else { return nil }
        return count <= Self.longestList ? count : nil
    }

    /// Whether the conditions select a small part of an index. SQLite cannot know that, and would rather read the whole table in
    /// the requested order.
    func isSmallRange(
        _ record: SQLiteExpression.Record,
        _ tests: [SQLiteColumnTest],
        orderedBy position: Int,
        _ bindings: [Value]
    ) -> Bool {
        guard let found = record.table.index(for: tests), found.index.positions.first != position,
            !found.tests.contains(where: \.isPoint)
        else { return false }
        let source = Self.source(record, found.index, join: "", found.tests)
        guard let count = try? count(source, limit: Self.longestRange + 1, bindings) else { return false }
        return count <= Self.longestRange && isSmallShare(count, of: record.table)
    }

    /// Whether a number of records is a small part of a table.
    func isSmallShare(_ count: Int, of table: SQLiteTable) -> Bool {
        let wanted = count * share
        return (try? self.count("FROM \(table.name)", limit: wanted, [])).map { $0 >= wanted } ?? false
    }

    /// The number of rows in an index range. Beyond the limit it is unknown, and the estimate is halfway to all rows.
    func estimate(_ record: SQLiteExpression.Record, _ tests: [SQLiteColumnTest], _ bindings: [Value]) throws -> Int {
        guard let found = record.table.index(for: tests) else { return try total(record.table) }
        let source = Self.source(record, found.index, join: "", found.tests)
        let counted = try count(source, limit: Self.longestCount + 1, bindings)
        guard counted > Self.longestCount else { return counted }
        return try (Self.longestCount + total(record.table)) / 2
    }

    /// The number of rows in a table, which SQLite counts by pages.
    func total(_ table: SQLiteTable) throws -> Int {
        try connection.withStatement("SELECT COUNT(*) FROM \(table.name)") { statement in
            try statement.step() ? Int(statement.int64(at: 0)) : 0
        }
    }

    private static func source(
        _ record: SQLiteExpression.Record,
        _ index: SQLiteTable.IndexKeys,
        join: String,
        _ tests: [SQLiteColumnTest]
    ) -> String {
        // Naming the index turns one that is missing in the file into an error rather than a scan.
        let choice = index.name.map { " INDEXED BY \($0)" } ?? ""
        return "FROM \(record.table.name) AS \(record.alias)\(choice)\(join) "
            + "WHERE \(tests.map(\.sql).joined(separator: " AND "))"
    }

    private func count(_ source: String, limit: Int, _ bindings: [Value]) throws -> Int {
        connection.notes.probes &+= 1
        let place = bindings.count + 1
        return try connection.withStatement("SELECT COUNT(*) FROM (SELECT 1 \(source) LIMIT ?\(place))") { statement in
            for (index, value) in bindings.enumerated() { try statement.bind(value, at: Int32(index + 1)) }
            try statement.bind(Int64(limit), at: Int32(place))
            return try statement.step() ? Int(statement.int64(at: 0)) : 0
        }
    }
}
