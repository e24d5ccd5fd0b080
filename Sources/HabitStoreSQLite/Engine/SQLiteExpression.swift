import Foundation
import HabitStore

/// Translates bound expressions to SQL.
///
/// Swift's conditions are true or false, SQL's can also be NULL, and what is not SQL at all (arithmetic that can trap,
/// Characters) is left out: where a superset is enough, the rest is done in Swift; elsewhere the translation is nil.
/// Values are bound, never written into the text.
struct SQLiteExpression {
    /// What a condition is used for.
    struct Use {
        /// Whether it may also hold for records that do not fulfil it.
        var allowsSuperset: Bool
        /// Whether NULL counts as false, as in WHERE; otherwise it must not occur.
        var nullIsFalse: Bool

        /// A condition of a WHERE that is finished in Swift.
        static let narrowing = Use(allowsSuperset: true, nullIsFalse: true)
        /// A condition whose value is used.
        static let value = Use(allowsSuperset: false, nullIsFalse: false)

        var exactly: Use { Use(allowsSuperset: false, nullIsFalse: nullIsFalse) }
    }

    /// A condition in SQL.
    struct Condition {
        var sql: String
        /// Whether it holds for no other records than the expression.
        var isExact: Bool

        static let never = Condition(sql: "0", isExact: true)
        static let always = Condition(sql: "1", isExact: true)
    }

    /// A value in SQL.
    struct Operand {
        var sql: String
        var canBeNull: Bool
    }

    /// The record that a variable stands for.
    struct Record {
        var table: SQLiteTable
        var alias: String
    }

    /// SQLite's parser holds 100 symbols; each kind of nesting takes some, and this many are left to expressions.
    private static let maximumNesting = 68
    /// More parts than this are left to Swift, so that texts stay far below SQLite's limits.
    private static let maximumParts = 4_000
    /// Longer lists are bound as one value where that can be done, so that each length makes no statement of its own.
    private static let longestVariedList = 32
    /// Longer lists of other kinds are left to Swift.
    private static let longestPlainList = 500

    let tables: [SQLiteTable]
    let textIsCanonical: Bool
    /// What is bound to the parameters, from 1.
    var bindings: [Value] = []
    var variables: [Int: Record] = [:]
    private var aliases = 0
    private var nesting = 0
    private var parts = 0

    init(_ tables: [SQLiteTable], textIsCanonical: Bool, root: SQLiteTable) {
        self.tables = tables
        self.textIsCanonical = textIsCanonical
        variables[0] = Record(table: root, alias: "t0")
    }

    mutating func bind(_ value: Value) -> String {
        bindings.append(value)
        return "?\(bindings.count)"
    }

    mutating func newAlias() -> String {
        aliases += 1
        return "t\(aliases)"
    }

    /// Runs a translation that leaves nothing behind when it fails.
    mutating func attempt<T>(_ body: (inout SQLiteExpression) -> T?) -> T? {
        let count = bindings.count
        if let result = body(&self) { return result }
        bindings.removeSubrange(count...)
        return nil
    }

    /// Runs a translation one level deeper; nil when it is too deep for SQLite's parser.
    mutating func nested<T>(_ symbols: Int, _ body: (inout SQLiteExpression) -> T?) -> T? {
        nesting += symbols
        defer { nesting -= symbols }
        parts += 1
        guard nesting <= Self.maximumNesting, parts <= Self.maximumParts else { return nil }
        return body(&self)
    }

    // MARK: Conditions

    mutating func condition(_ expression: BoundExpression, _ use: Use) -> Condition? {
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
        var translated: [String] = []
        var isExact = true
        let result: Void? = nested(Self.nesting(of: parts)) { writer in
            for part in parts {
                if let condition = writer.attempt({ $0.condition(part, use) }) {
                    translated.append(condition.sql)
                    isExact = isExact && condition.isExact
                } else {
                    guard use.allowsSuperset else { return nil }
                    isExact = false
                }
            }
            return ()
        }
        guard result != nil else { return nil }
        guard !translated.isEmpty || parts.isEmpty else { return nil }
        return Condition(sql: Self.joined(translated[...], by: " AND ", empty: "1"), isExact: isExact)
    }

    private mutating func disjunction(_ parts: [BoundExpression], _ use: Use) -> Condition? {
        var translated: [String] = []
        var isExact = true
        let result: Void? = nested(Self.nesting(of: parts)) { writer in
            for part in parts {
                guard let condition = writer.condition(part, use) else { return nil }
                translated.append(condition.sql)
                isExact = isExact && condition.isExact
            }
            return ()
        }
        guard result != nil else { return nil }
        return Condition(sql: Self.joined(translated[...], by: " OR ", empty: "0"), isExact: isExact)
    }

    /// Joined as a balanced tree: a plain chain of a thousand would be a thousand deep to SQLite.
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
        if let emptiness = compareCount(comparison, left, right) { return emptiness }
        guard let first = value(left), let second = value(right) else { return nil }
        let canBeNull = first.canBeNull || second.canBeNull
        if isEquality {
            // NULL where it counts as false: `=` then says the same as IS, and is what indexes know best.
            let isPlain =
                !canBeNull || comparison == .equal && use.nullIsFalse && !(first.canBeNull && second.canBeNull)
            let symbol = comparison == .equal ? (isPlain ? "=" : "IS") : (isPlain ? "<>" : "IS NOT")
            return Condition(sql: "\(first.sql) \(symbol) \(second.sql)", isExact: true)
        }
        return leaf("\(first.sql) \(comparison.rawValue) \(second.sql)", canBeNull: canBeNull, use)
    }

    /// Whether there are related records at all needs no counting.
    private mutating func compareCount(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression
    ) -> Condition? {
        guard case .count(let collection, let inner) = left, right == .literal(.int(0)) else { return nil }
        let word: String
        switch comparison {
        case .equal, .lessOrEqual: word = "NOT EXISTS"
        case .notEqual, .greater: word = "EXISTS"
        case .less, .greaterOrEqual: return nil
        }
        return attempt { writer in
            writer.nested(11) { $0.members(collection, inner, .value.forWhere, isNegated: false) }
                .map { Condition(sql: "\(word) (SELECT 1 \($0.sql))", isExact: true) }
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
        if matchesNull { return Condition(sql: "(\(operand.sql) IS NULL OR \(test))", isExact: true) }
        return leaf(test, canBeNull: true, use)
    }

    /// The elements of a list. Long ones are one value: identifiers as a blob cut into pieces, numbers as JSON.
    private mutating func list(_ values: [Value]) -> String? {
        if values.count > Self.longestVariedList, let list = nested(20, { $0.longList(values) }) { return list }
        guard values.count <= Self.longestPlainList else { return nil }
        var places: [String] = []
        for value in values {
            guard let place = literal(value) else { return nil }
            places.append(place)
        }
        return places.joined(separator: ", ")
    }

    private mutating func longList(_ values: [Value]) -> String? {
        let numbers = values.compactMap { value -> String? in
            if case .int(let number) = value { return String(number) }
            return nil
        }
        if numbers.count == values.count {
            return "SELECT value FROM json_each(\(bind(.string("[\(numbers.joined(separator: ","))]"))))"
        }
        var bytes: [UInt8] = []
        for value in values {
            guard case .uuid(let id) = value else { return nil }
            withUnsafeBytes(of: id.uuid) { bytes += $0 }
        }
        let blob = bind(.data(.init(bytes)))
        let count = bind(.int(Int64(values.count)))
        return "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < \(count)) "
            + "SELECT substr(\(blob), i * 16 + 1, 16) FROM n"
    }

    /// A condition that is NULL when an operand is.
    func leaf(_ sql: String, canBeNull: Bool, isExact: Bool = true, _ use: Use) -> Condition {
        Condition(sql: canBeNull && !use.nullIsFalse ? "COALESCE(\(sql), 0)" : sql, isExact: isExact)
    }
}

extension SQLiteExpression.Use {
    /// The same inside of a WHERE.
    var forWhere: SQLiteExpression.Use { .init(allowsSuperset: allowsSuperset, nullIsFalse: true) }
}

extension BoundExpression {
    fileprivate var isNullLiteral: Bool { self == .literal(.null) }
}
