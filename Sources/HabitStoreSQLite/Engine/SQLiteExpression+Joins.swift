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
        case .literal: return []
        case .attribute(let path, _, _, _), .exists(let path): return [path]
        case .not(let inner), .isIn(let inner, _), .length(let inner), .least(let inner), .greatest(let inner):
            return inner.freePaths
        case .and(let parts), .or(let parts): return parts.flatMap(\.freePaths)
        case .compare(_, let left, let right), .text(_, let left, let right), .coalesce(let left, let right),
            .caseInsensitiveOrder(let left, let right), .arithmetic(_, let left, let right):
            return left.freePaths + right.freePaths
        case .some(let collection, let inner), .every(let collection, let inner), .count(let collection, let inner):
            return [collection.path] + inner.freePaths.filter { $0.variable != collection.variable }
        case .conditional(let test, let first, let second):
            return test.freePaths + first.freePaths + second.freePaths
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
