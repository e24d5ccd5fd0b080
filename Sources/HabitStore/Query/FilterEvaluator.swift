import Foundation

/// What filters need of a transaction to follow relationships.
@_spi(Engines) public protocol RelatedRecords {
    /// Lends the record of an identifier to `body`; it is valid during the call.
    ///
    /// - Returns: false when there is none.
    func withRelated(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool
    /// The identifiers of the records whose reference or links in `attribute` lead to `id`, ascending; no more than
    /// `limit` of them.
    func identifiers(entity: Int, attribute: Int, referringTo id: UUID, limit: Int?) throws -> [UUID]
}

/// Evaluates bound expressions over records, the way Swift would: the meaning that every engine's shortcut must match.
@_spi(Engines) public struct FilterEvaluator {
    let records: any RelatedRecords

    /// An evaluator that follows relationships in `records`.
    public init(_ records: any RelatedRecords) { self.records = records }

    /// Whether a record fulfils a condition.
    ///
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` where Swift would trap.
    public func matches(_ condition: BoundExpression, _ record: any RecordAccess) throws -> Bool {
        try holds(condition, [0: record])
    }

    /// The value of an expression that depends on no record.
    static func value(of expression: BoundExpression) throws -> Value {
        try FilterEvaluator(NoRecords()).evaluate(expression, [:])
    }

    private typealias Environment = [Int: any RecordAccess]

    private func holds(_ expression: BoundExpression, _ environment: Environment) throws -> Bool {
        if case .bool(let result) = try evaluate(expression, environment) { return result }
        return false
    }

    private func evaluate(_ expression: BoundExpression, _ environment: Environment) throws -> Value {
        switch expression {
        case .literal(let value): return value
        case .attribute(let path, let position, _, _):
            return try follow(path, environment) { try $0?.value(at: position) } ?? .null
        case .exists(let path): return .bool(try follow(path, environment) { $0 != nil })
        case .not(let inner): return .bool(try !holds(inner, environment))
        case .and(let parts): return .bool(try parts.allSatisfy { try holds($0, environment) })
        case .or(let parts): return .bool(try parts.contains { try holds($0, environment) })
        case .compare(let comparison, let left, let right):
            return .bool(comparison.holds(try evaluate(left, environment), try evaluate(right, environment)))
        case .isIn(let member, let values): return .bool(values.contains(try evaluate(member, environment)))
        case .text(let test, let text, let part):
            return .bool(test.holds(try evaluate(text, environment), try evaluate(part, environment)))
        case .some(let collection, let inner):
            return .bool(try members(collection, environment) { try !holds(inner, $0) } == false)
        case .every(let collection, let inner):
            return .bool(try members(collection, environment) { try holds(inner, $0) })
        case .count(let collection, let inner):
            var count: Int64 = 0
            _ = try members(collection, environment) {
                if try holds(inner, $0) { count += 1 }
                return true
            }
            return .int(count)
        case .length(let inner): return try evaluate(inner, environment).length
        case .least(let inner): return try evaluate(inner, environment).extreme { $0 < 0 }
        case .greatest(let inner): return try evaluate(inner, environment).extreme { $0 > 0 }
        case .caseInsensitiveOrder(let left, let right):
            return try evaluate(left, environment).caseInsensitiveOrder(comparedWith: evaluate(right, environment))
        case .coalesce(let first, let second):
            let value = try evaluate(first, environment)
            return value.isNull ? try evaluate(second, environment) : value
        case .conditional(let test, let first, let second):
            return try evaluate(try holds(test, environment) ? first : second, environment)
        case .arithmetic(let operation, let left, let right):
            return try operation.apply(try evaluate(left, environment), try evaluate(right, environment))
        }
    }

    /// Calls `body` with the record that a path leads to, or nil.
    private func follow<R>(
        _ path: BoundPath,
        _ environment: Environment,
        _ body: ((any RecordAccess)?) throws -> R
    ) throws -> R {
        try follow(path.hops[...], environment[path.variable], body)
    }

    private func follow<R>(
        _ hops: ArraySlice<BoundPath.Hop>,
        _ record: (any RecordAccess)?,
        _ body: ((any RecordAccess)?) throws -> R
    ) throws -> R {
        guard let hop = hops.first else { return try body(record) }
        guard case .uuid(let id)? = try record?.value(at: hop.attribute) else { return try body(nil) }
        var result: R?
        _ = try records.withRelated(entity: hop.destination, id: id) {
            result = try follow(hops.dropFirst(), $0.values, body)
        }
        return try result ?? body(nil)
    }

    /// Calls `body` for each related record until it returns false.
    ///
    /// - Returns: whether all calls returned true.
    private func members(
        _ collection: BoundCollection,
        _ environment: Environment,
        _ body: (Environment) throws -> Bool
    ) throws -> Bool {
        let ids = try follow(collection.path, environment) { try $0.map { try identifiers(collection, $0) } ?? [] }
        var goesOn = true
        for id in ids where goesOn {
            _ = try records.withRelated(entity: collection.destination, id: id) { member in
                var inner = environment
                inner[collection.variable] = member.values
                goesOn = try body(inner)
            }
        }
        return goesOn
    }

    private func identifiers(_ collection: BoundCollection, _ owner: any RecordAccess) throws -> [UUID] {
        switch collection.storage {
        case .linked(let attribute):
            guard case .links(let ids) = try owner.value(at: attribute) else { return [] }
            return ids
        case .referring(let attribute), .linking(let attribute):
            guard case .uuid(let id) = try owner.value(at: 0) else { return [] }
            return try records.identifiers(
                entity: collection.destination,
                attribute: attribute,
                referringTo: id,
                limit: nil
            )
        }
    }
}

/// Relationships that lead nowhere.
private struct NoRecords: RelatedRecords {
    func withRelated(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool { false }
    func identifiers(entity: Int, attribute: Int, referringTo id: UUID, limit: Int?) throws -> [UUID] { [] }
}

extension FilterExpression.Comparison {
    /// Whether the comparison holds; nil equals nil only, and an order comparison with nil or NaN is false.
    func holds(_ left: Value, _ right: Value) -> Bool {
        if case (.double(let left), .double(let right)) = (left, right) { return holds(left, right) }
        switch self {
        case .equal: return left == right
        case .notEqual: return left != right
        case .less: return !left.isNull && !right.isNull && left.order(comparedWith: right) < 0
        case .lessOrEqual: return !left.isNull && !right.isNull && left.order(comparedWith: right) <= 0
        case .greater: return !left.isNull && !right.isNull && left.order(comparedWith: right) > 0
        case .greaterOrEqual: return !left.isNull && !right.isNull && left.order(comparedWith: right) >= 0
        }
    }
}

extension FilterExpression.Comparison {
    /// Whether the comparison holds, by the type's own operators.
    @inline(__always)
    func holds<T: Comparable>(_ left: T, _ right: T) -> Bool {
        switch self {
        case .equal: return left == right
        case .notEqual: return left != right
        case .less: return left < right
        case .lessOrEqual: return left <= right
        case .greater: return left > right
        case .greaterOrEqual: return left >= right
        }
    }
}

extension FilterExpression.TextTest {
    /// Whether the test holds; false with nil.
    func holds(_ text: Value, _ part: Value) -> Bool {
        if case .links(let ids) = text, case .uuid(let id) = part { return self == .contains && ids.contains(id) }
        guard case .string(let part) = part else { return false }
        if case .strings(let texts) = text { return self == .contains && texts.contains(part) }
        guard case .string(let text) = text else { return false }
        return holds(text, part)
    }

    /// Whether the test holds for two texts, by their Characters.
    func holds(_ text: String, _ part: String) -> Bool {
        switch self {
        case .contains: return text.containsCharacters(part)
        case .beginsWith: return text.starts(with: part)
        case .endsWith: return text.reversed().starts(with: part.reversed())
        case .searches: return text.localizedStandardContains(part)
        }
    }
}

extension String {
    /// Whether the Characters of `part` occur one after the other, as `Collection.contains(_:)` has it.
    func containsCharacters(_ part: String) -> Bool {
        if part.isEmpty { return true }
        return firstRange(of: part) != nil
    }

    private func firstRange(of part: String) -> Range<Index>? {
        ranges(of: part).first
    }
}

extension Value {
    /// The number of Characters, texts, links or bytes; null for values that have no length.
    var length: Value {
        switch self {
        case .string(let text): return .int(Int64(text.count))
        case .strings(let texts): return .int(Int64(texts.count))
        case .links(let ids): return .int(Int64(ids.count))
        case .data(let bytes): return .int(Int64(bytes.count))
        case .null, .bool, .int, .double, .date, .uuid: return .null
        }
    }
}

extension Value {
    /// The element of a list that comes first or last; null for an empty list and for null.
    func extreme(_ isBetter: (Int) -> Bool) -> Value {
        let elements: [Value]
        switch self {
        case .strings(let texts): elements = texts.map { .string($0) }
        case .links(let ids): elements = ids.map { .uuid($0) }
        case .null, .bool, .int, .double, .string, .date, .uuid, .data: return .null
        }
        guard var best = elements.first else { return .null }
        for element in elements.dropFirst() where isBetter(element.order(comparedWith: best)) { best = element }
        return best
    }

    /// -1, 0 or 1 for two texts; null with null.
    func caseInsensitiveOrder(comparedWith other: Value) -> Value {
        guard case .string(let text) = self, case .string(let other) = other else { return .null }
        return .int(Int64(text.caseInsensitiveCompare(other).rawValue))
    }
}

extension FilterExpression.Arithmetic {
    /// The result; nil with nil.
    ///
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` on overflow and division by zero of whole numbers, where Swift
    ///   traps.
    func apply(_ left: Value, _ right: Value) throws -> Value {
        switch (left, right) {
        case (.int(let a), .int(let b)): return .int(try apply(a, b))
        case (.double(let a), .double(let b)): return .double(apply(a, b))
        case (.null, _), (_, .null): return .null
        default: throw HabitStoreError(.invalidQuery, "arithmetic needs two numbers of one kind")
        }
    }

    /// The result for whole numbers.
    func apply(_ a: Int64, _ b: Int64) throws -> Int64 {
        let (result, overflow): (Int64, Bool)
        switch self {
        case .add: (result, overflow) = a.addingReportingOverflow(b)
        case .subtract: (result, overflow) = a.subtractingReportingOverflow(b)
        case .multiply: (result, overflow) = a.multipliedReportingOverflow(by: b)
        case .divide: (result, overflow) = a.dividedReportingOverflow(by: b)
        case .remainder: (result, overflow) = a.remainderReportingOverflow(dividingBy: b)
        }
        guard !overflow else {
            throw HabitStoreError(
                .evaluationFailed,
                "arithmetic in a filter overflowed or divided by zero, where Swift would trap"
            )
        }
        return result
    }

    /// The result for doubles.
    func apply(_ a: Double, _ b: Double) -> Double {
        switch self {
        case .add: return a + b
        case .subtract: return a - b
        case .multiply: return a * b
        case .divide: return a / b
        case .remainder: return a.truncatingRemainder(dividingBy: b)
        }
    }
}
