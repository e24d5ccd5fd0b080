import Foundation
@_spi(Engines) import HabitStore

/// Translates bound expressions to SQL.
///
/// Swift's conditions are true or false; SQL's can also be NULL. What SQL cannot express (arithmetic that can trap, Characters) is
/// left out: if a superset is enough, Swift does the rest; otherwise the translation is nil. Values are bound, never written into
/// the text.
struct SQLiteExpression {
    /// The use of a condition.
    struct Use {
        /// Whether it may also hold for records that do not meet the condition.
        var allowsSuperset: Bool
        /// Whether NULL counts as false, as in WHERE; otherwise it must not occur.
        var nullIsFalse: Bool

        /// A condition in WHERE, which Swift completes.
        static let narrowing = Use(allowsSuperset: true, nullIsFalse: true)
        /// A condition whose value is used.
        static let value = Use(allowsSuperset: false, nullIsFalse: false)

        var exactly: Use { Use(allowsSuperset: false, nullIsFalse: nullIsFalse) }
    }

    /// A condition in SQL.
    struct Condition: Sendable {
        var sql: String
        /// Whether it holds only for records that meet the expression.
        var isExact: Bool
        /// Conditions that follow from this one and that an index can answer.
        var tests: [SQLiteColumnTest] = []
        /// The same for each of the alternatives that it unites.
        var branches: [[SQLiteColumnTest]] = []

        static let never = Condition(sql: "0", isExact: true)
        static let always = Condition(sql: "1", isExact: true)
    }

    /// A value in SQL.
    struct Operand {
        var sql: String
        var canBeNull: Bool
    }

    /// The record bound to a variable.
    struct Record: Sendable {
        var table: SQLiteTable
        var alias: String
    }

    /// SQLite's parser stack has 100 entries. Each kind of nesting takes some; this many are left for expressions.
    private static let maximumNesting = 68
    /// Swift evaluates conditions with more parts, so that the SQL stays far below SQLite's limits.
    private static let maximumParts = 4_000
    /// Longer lists are bound as one value if possible, so that lists of different lengths share a statement.
    private static let longestVariedList = 32
    /// Swift evaluates longer lists of other kinds.
    private static let longestPlainList = 500

    let tables: [SQLiteTable]
    let textIsCanonical: Bool
    /// Counts a few rows where the planner has a choice; nil to take the way that is never bad.
    let probe: SQLiteProbe?
    /// Whether to count each visited record.
    let countsVisits: Bool
    /// Whether to count the rows of each part of a union separately.
    let countsBranches: Bool
    /// The values of the parameters, from 1.
    var bindings: [Value] = []
    var variables: [Int: Record] = [:]
    /// The records at the end of paths that a subquery is about.
    var places: [SQLitePlace: Record] = [:]
    /// The number of enclosing subqueries that run for each row.
    var correlation = 0
    /// The number of enclosing subqueries that run once.
    var subqueries = 0
    /// Whether the SQL visits rows of other tables than the fetched entity's.
    private(set) var readsElsewhere = false
    private var aliases = 0
    private var nesting = 0
    private var parts = 0

    init(
        _ tables: [SQLiteTable],
        textIsCanonical: Bool,
        root: SQLiteTable,
        probe: SQLiteProbe? = nil,
        countsVisits: Bool = false,
        countsBranches: Bool = false
    ) {
        self.tables = tables
        self.textIsCanonical = textIsCanonical
        self.probe = probe
        self.countsVisits = countsVisits
        self.countsBranches = countsBranches
        variables[0] = Record(table: root, alias: "t0")
    }

    mutating func bind(_ value: Value) -> String {
        bindings.append(value)
        return "?\(bindings.count)"
    }

    mutating func newAlias() -> String {
        aliases += 1
        readsElsewhere = true
        return "t\(aliases)"
    }

    /// Runs a translation, and undoes its effects if it fails.
    mutating func attempt<T>(_ body: (inout SQLiteExpression) -> T?) -> T? {
        let (count, aliases, reads) = (bindings.count, self.aliases, readsElsewhere)
        if let result = body(&self) { return result }
        bindings.removeSubrange(count...)
        self.aliases = aliases
        readsElsewhere = reads
        return nil
    }

    /// Runs a translation one level deeper; nil if that is too deep for SQLite's parser.
    mutating func nested<T>(_ symbols: Int, _ body: (inout SQLiteExpression) -> T?) -> T? {
        nesting += symbols
        defer { nesting -= symbols }
        parts += 1
        guard nesting <= Self.maximumNesting, parts <= Self.maximumParts else { return nil }
        return body(&self)
    }

    // MARK: Conditions

    mutating func condition(_ expression: BoundExpression, _ use: Use) -> Condition? {
        if let joined = semiJoin([expression], use) { return joined }
        guard var condition = plainCondition(expression, use) else { return nil }
        if let test = columnTest(expression, condition.sql) { condition.tests = [test] }
        return condition
    }

    private mutating func plainCondition(_ expression: BoundExpression, _ use: Use) -> Condition? {
        switch expression {
        case .literal(.bool(let flag)): return flag ? .always : .never
        case .literal: return .never
        case .exists(let path): return nested(0) { $0.exists(path) }
        case .not(let inner):
            return nested(2) { $0.condition(inner, .value) }.map { Condition(sql: "NOT (\($0.sql))", isExact: true) }
        case .and(let parts): return conjunction(parts, use)
        case .or(let parts): return disjunction(parts, use)
        case .compare(let comparison, let left, let right):
            return nested(0) { $0.compare(comparison, left, right, use) }
        case .isIn(let member, let values): return nested(0) { $0.isIn(member, values, use) }
        case .text(let test, let text, let part): return nested(0) { $0.text(test, text, part, use) }
        case .some(let collection, let inner): return nested(11) { $0.some(collection, inner, use) }
        case .every(let collection, let inner): return nested(14) { $0.every(collection, inner, use) }
        case .attribute, .coalesce, .conditional:
            guard let value = nested(2, { $0.value(expression) }) else { return nil }
            return Condition(sql: value.canBeNull ? "\(value.sql) IS 1" : "\(value.sql) = 1", isExact: true)
        case .count, .length, .least, .greatest, .caseInsensitiveOrder, .arithmetic: return nil
        }
    }

    private mutating func conjunction(_ parts: [BoundExpression], _ use: Use) -> Condition? {
        guard !parts.isEmpty else { return .always }
        guard let found = nested(Self.nesting(of: parts), { $0.conditions(parts, use) }) else { return nil }
        let translated = found.compactMap(\.condition)
        guard !translated.isEmpty, translated.count == found.count || use.allowsSuperset else { return nil }
        return Condition(
            sql: Self.joined(translated.map(\.sql)[...], by: " AND ", empty: "1"),
            isExact: translated.count == found.count && translated.allSatisfy(\.isExact),
            tests: translated.flatMap(\.tests)
        )
    }

    /// The conditions of a conjunction one by one, with those on the same related record combined if possible.
    mutating func conditions(
        _ parts: [BoundExpression],
        _ use: Use
    ) -> [(parts: [BoundExpression], condition: Condition?)] {
        let places = canJoin(use) ? parts.map { nextPlace([$0]) } : []
        guard places.contains(where: { $0 != nil }) else {
            return parts.map { part in ([part], attempt { $0.condition(part, use) }) }
        }
        var groups: [[BoundExpression]] = []
        var known: [SQLitePlace: Int] = [:]
        for (part, place) in zip(parts, places) {
            guard let place else {
                groups.append([part])
                continue
            }
            if let group = known[place] {
                groups[group].append(part)
            } else {
                known[place] = groups.count
                groups.append([part])
            }
        }
        return groups.flatMap { group -> [(parts: [BoundExpression], condition: Condition?)] in
            if group.count > 1, let joined = semiJoin(group, use) { return [(group, joined)] }
            return group.map { part in ([part], attempt { $0.condition(part, use) }) }
        }
    }

    private mutating func disjunction(_ parts: [BoundExpression], _ use: Use) -> Condition? {
        var translated: [Condition] = []
        let result: Void? = nested(Self.nesting(of: parts)) { writer in
            for part in parts {
                guard let condition = writer.condition(part, use) else { return nil }
                translated.append(condition)
            }
            return ()
        }
        guard result != nil else { return nil }
        let countsBranches = countsBranches && use.nullIsFalse && correlation == 0 && subqueries == 0
        let texts = translated.map { countsBranches ? "(\(visit(.branch, "t0"))\($0.sql))" : $0.sql }
        var condition = Condition(
            sql: Self.joined(texts[...], by: " OR ", empty: "0"),
            isExact: translated.allSatisfy(\.isExact),
            branches: translated.map(\.tests)
        )
        if use.nullIsFalse, let hull = attempt({ $0.hull(of: parts) }) {
            condition.sql = "(\(hull.map(\.sql).joined(separator: " AND ")) AND \(condition.sql))"
            condition.tests = hull
        }
        return condition
    }

    /// Joins the parts as a balanced tree: to SQLite, a chain of a thousand parts is a thousand levels deep.
    static func joined(_ parts: ArraySlice<String>, by word: String, empty: String) -> String {
        guard parts.count > 1 else { return parts.first ?? empty }
        guard parts.count > 16 else { return "(\(parts.joined(separator: word)))" }
        let middle = parts.startIndex + parts.count / 2
        return "(\(joined(parts[..<middle], by: word, empty: empty))\(word)"
            + "\(joined(parts[middle...], by: word, empty: empty)))"
    }

    private static func nesting(of parts: [BoundExpression]) -> Int {
        3 + (parts.count > 16 ? 3 * (Int.bitWidth - (parts.count / 16).leadingZeroBitCount) : 0)
    }

    // MARK: Comparisons

    private mutating func compare(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression,
        _ use: Use
    ) -> Condition? {
        let isEquality = comparison == .equal || comparison == .notEqual
        if let tested = right.isNullLiteral ? left : (left.isNullLiteral ? right : nil) {
            guard isEquality else { return .never }
            return nullTest(tested).map { test in
                Condition(sql: comparison == .equal ? test : "NOT (\(test))", isExact: true)
            }
        }
        if case .literal = left {
            if let emptiness = emptiness(comparison.turned, right, left, use) { return emptiness }
        } else if let emptiness = emptiness(comparison, left, right, use) {
            return emptiness
        }
        guard let first = value(left), let second = value(right) else { return nil }
        let canBeNull = first.canBeNull || second.canBeNull
        if isEquality {
            // Where NULL counts as false, `=` is equivalent to IS, and indexes support it best.
            let isPlain =
                !canBeNull || comparison == .equal && use.nullIsFalse && !(first.canBeNull && second.canBeNull)
            let symbol = comparison == .equal ? (isPlain ? "=" : "IS") : (isPlain ? "<>" : "IS NOT")
            return Condition(sql: "\(first.sql) \(symbol) \(second.sql)", isExact: true)
        }
        return leaf("\(first.sql) \(comparison.rawValue) \(second.sql)", canBeNull: canBeNull, use)
    }

    /// Whether there is any element at all, which can be decided even if SQL cannot count them.
    private mutating func emptiness(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression,
        _ use: Use
    ) -> Condition? {
        switch left {
        case .count: return compareCount(comparison, left, right, use)
        case .length: return compareLength(comparison, left, right, use)
        default: return nil
        }
    }

    /// Whether there are any related records, without counting them.
    private mutating func compareCount(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression,
        _ use: Use
    ) -> Condition? {
        guard case .count(let collection, let inner) = left, let isAny = comparison.asksForAny(than: right) else {
            return nil
        }
        return attempt { writer in
            if isAny { return writer.nested(11) { $0.some(collection, inner, use.exactly) } }
            return writer.nested(11) { $0.members(collection, inner, .value.forWhere, isNegated: false) }
                .map { Condition(sql: "NOT EXISTS (SELECT 1 \($0.sql))", isExact: true) }
        }
    }

    private mutating func isIn(_ member: BoundExpression, _ values: [Value], _ use: Use) -> Condition? {
        var constants: [Value] = []
        var seen: Set<Value> = []
        for value in values where !value.isNull && seen.insert(value).inserted { constants.append(value) }
        let matchesNull = values.contains(.null)
        if member.isNullLiteral { return matchesNull ? .always : .never }
        if constants.isEmpty {
            guard matchesNull else { return .never }
            return nullTest(member).map { Condition(sql: $0, isExact: true) }
        }
        guard let operand = value(member), let list = list(constants) else { return nil }
        let test = "\(operand.sql) IN (\(list))"
        guard operand.canBeNull else { return Condition(sql: test, isExact: true) }
        if matchesNull {
            let tests = ["\(operand.sql) IS NULL", test]
            return Condition(
                sql: "(\(tests[0]) OR \(tests[1]))",
                isExact: true,
                branches: tests.map { test in columnTest(member, test).map { [$0] } ?? [] }
            )
        }
        return leaf(test, canBeNull: true, use)
    }

    /// The elements of a list. A long list is bound as one value: identifiers as a blob that SQL splits, numbers as JSON.
    private mutating func list(_ values: [Value]) -> String? {
        if values.count > Self.longestVariedList, let list = nested(20, { $0.longList(values) }) { return list }
        guard values.count <= Self.longestPlainList else { return nil }
        var places: [String] = []
        // Lists of similar length share a statement: the last value is repeated.
        let length = Self.roundedUp(values.count)
        for value in values + Array(repeating: values[values.count - 1], count: length - values.count) {
            guard let place = literal(value) else { return nil }
            places.append(place)
        }
        return places.joined(separator: ", ")
    }

    /// The next power of two.
    private static func roundedUp(_ count: Int) -> Int {
        var length = 1
        while length < count { length *= 2 }
        return length
    }

    private mutating func longList(_ values: [Value]) -> String? {
        let numbers = values.compactMap { value -> String? in
            if case .int(let number) = value { return String(number) }
            return nil
        }
        if numbers.count == values.count {
            readsElsewhere = true
            return "SELECT value FROM json_each(\(bind(.string("[\(numbers.joined(separator: ","))]"))))"
        }
        let texts = values.compactMap { value -> String? in
            // SQLite ends a JSON text at a NUL.
            if case .string(let text) = value, textIsCanonical, !text.utf8.contains(0) { return text }
            return nil
        }
        if texts.count == values.count {
            readsElsewhere = true
            return "SELECT value FROM json_each(\(bind(.string(SQLiteTextList.encode(texts)))))"
        }
        var bytes: [UInt8] = []
        for value in values {
            guard case .uuid(let id) = value else { return nil }
            withUnsafeBytes(of: id.uuid) { bytes += $0 }
        }
        readsElsewhere = true
        let blob = bind(.data(.init(bytes)))
        let count = bind(.int(Int64(values.count)))
        return "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < \(count)) "
            + "SELECT substr(\(blob), i * 16 + 1, 16) FROM n"
    }

    /// A condition that is NULL if an operand is.
    func leaf(_ sql: String, canBeNull: Bool, isExact: Bool = true, _ use: Use) -> Condition {
        Condition(sql: canBeNull && !use.nullIsFalse ? "COALESCE(\(sql), 0)" : sql, isExact: isExact)
    }
}

extension SQLiteExpression.Use {
    /// The same inside a WHERE.
    var forWhere: SQLiteExpression.Use { .init(allowsSuperset: allowsSuperset, nullIsFalse: true) }
}

extension FilterExpression.Comparison {
    /// Whether comparing a non-negative number with this one asks if it is positive (true) or 0 (false); nil for any other
    /// comparison.
    func asksForAny(than number: BoundExpression) -> Bool? {
        switch (self, number) {
        case (.notEqual, .literal(.int(0))), (.greater, .literal(.int(0))), (.greaterOrEqual, .literal(.int(1))):
            return true
        case (.equal, .literal(.int(0))), (.lessOrEqual, .literal(.int(0))), (.less, .literal(.int(1))):
            return false
        default: return nil
        }
    }
}

extension BoundExpression {
    fileprivate var isNullLiteral: Bool { if case .literal(.null) = self { true } else { false } }
}
