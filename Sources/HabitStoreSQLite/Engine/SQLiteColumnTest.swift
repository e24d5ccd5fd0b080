@_spi(Engines) import HabitStore

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
