import Foundation

/// A ``FilterExpression`` with its names resolved against a schema: what engines plan and the evaluator runs.
@_spi(Engines) public indirect enum BoundExpression: Sendable, Hashable {
    /// A constant.
    case literal(Value)
    /// An attribute at the end of a path.
    case attribute(BoundPath, position: Int, kind: AttributeKind, isOptional: Bool)
    /// Whether a path leads to a record.
    case exists(BoundPath)
    /// The opposite.
    case not(BoundExpression)
    /// Whether all hold.
    case and([BoundExpression])
    /// Whether one holds.
    case or([BoundExpression])
    /// A comparison.
    case compare(FilterExpression.Comparison, BoundExpression, BoundExpression)
    /// Membership in constants.
    case isIn(BoundExpression, [Value])
    /// A test of text.
    case text(FilterExpression.TextTest, BoundExpression, BoundExpression)
    /// Whether one of the related records fulfils a condition.
    case some(BoundCollection, BoundExpression)
    /// Whether all related records fulfil a condition.
    case every(BoundCollection, BoundExpression)
    /// How many of the related records fulfil a condition.
    case count(BoundCollection, BoundExpression)
    /// The length of a text, list or data.
    case length(BoundExpression)
    /// The first value, or the second when it is nil.
    case coalesce(BoundExpression, BoundExpression)
    /// A choice.
    case conditional(BoundExpression, BoundExpression, BoundExpression)
    /// The least element of a list.
    case least(BoundExpression)
    /// The greatest element of a list.
    case greatest(BoundExpression)
    /// The order of two texts, letter case aside.
    case caseInsensitiveOrder(BoundExpression, BoundExpression)
    /// Arithmetic.
    case arithmetic(FilterExpression.Arithmetic, BoundExpression, BoundExpression)
}

/// A resolved ``RecordPath``.
@_spi(Engines) public struct BoundPath: Sendable, Hashable {
    /// The variable that it starts from.
    public let variable: Int
    /// For each hop, the position of the reference attribute and the entity it leads to.
    public let hops: [Hop]

    /// One to-one step.
    public struct Hop: Sendable, Hashable {
        /// The position of the stored reference.
        public let attribute: Int
        /// The entity that it leads to.
        public let destination: Int
    }

    /// Whether it is the record asked for itself.
    public var isRoot: Bool { variable == 0 && hops.isEmpty }
}

/// A resolved ``CollectionPath``.
@_spi(Engines) public struct BoundCollection: Sendable, Hashable {
    /// How the related records are found.
    public enum Storage: Sendable, Hashable {
        /// They refer to the record by this attribute.
        case referring(attribute: Int)
        /// The record's links in this attribute lead to them.
        case linked(attribute: Int)
        /// Their links in this attribute lead to the record.
        case linking(attribute: Int)
    }

    /// The record whose related records are meant.
    public let path: BoundPath
    /// How they are found.
    public let storage: Storage
    /// The entity of the related records.
    public let destination: Int
    /// The variable under which the condition knows each of them.
    public let variable: Int
}

@_spi(Engines) extension BoundExpression {
    /// Whether one of the expressions that it is made of fulfils a condition; they are asked in their order.
    public func containsChild(where fulfils: (BoundExpression) throws -> Bool) rethrows -> Bool {
        switch self {
        case .literal, .attribute, .exists: return false
        case .not(let inner), .isIn(let inner, _), .length(let inner), .least(let inner), .greatest(let inner),
            .some(_, let inner), .every(_, let inner), .count(_, let inner):
            return try fulfils(inner)
        case .and(let parts), .or(let parts): return try parts.contains(where: fulfils)
        case .compare(_, let left, let right), .text(_, let left, let right), .coalesce(let left, let right),
            .caseInsensitiveOrder(let left, let right), .arithmetic(_, let left, let right):
            return try fulfils(left) || fulfils(right)
        case .conditional(let test, let first, let second):
            return try fulfils(test) || fulfils(first) || fulfils(second)
        }
    }

    /// Calls `body` with each of the expressions that it is made of, in their order.
    public func forEachChild(_ body: (BoundExpression) throws -> Void) rethrows {
        _ = try containsChild {
            try body($0)
            return false
        }
    }

    /// The same made of other expressions.
    public func mapChildren<E: Error>(
        _ transform: (BoundExpression) throws(E) -> BoundExpression
    ) throws(E) -> BoundExpression {
        switch self {
        case .literal, .attribute, .exists: self
        case .not(let inner): .not(try transform(inner))
        case .and(let parts): .and(try parts.map(transform))
        case .or(let parts): .or(try parts.map(transform))
        case .compare(let comparison, let left, let right):
            .compare(comparison, try transform(left), try transform(right))
        case .isIn(let member, let values): .isIn(try transform(member), values)
        case .text(let test, let text, let part): .text(test, try transform(text), try transform(part))
        case .some(let collection, let inner): .some(collection, try transform(inner))
        case .every(let collection, let inner): .every(collection, try transform(inner))
        case .count(let collection, let inner): .count(collection, try transform(inner))
        case .length(let inner): .length(try transform(inner))
        case .coalesce(let first, let second): .coalesce(try transform(first), try transform(second))
        case .conditional(let test, let first, let second):
            .conditional(try transform(test), try transform(first), try transform(second))
        case .least(let inner): .least(try transform(inner))
        case .greatest(let inner): .greatest(try transform(inner))
        case .caseInsensitiveOrder(let left, let right):
            .caseInsensitiveOrder(try transform(left), try transform(right))
        case .arithmetic(let operation, let left, let right):
            .arithmetic(operation, try transform(left), try transform(right))
        }
    }
}

@_spi(Engines) extension BoundExpression {
    /// The conditions that must all hold and by which an engine may narrow its search: those before the first that can
    /// fail where Swift would trap, since narrowing by a later one would pass over records whose failure Swift reports.
    public var narrowingConditions: [BoundExpression] {
        guard case .and(let parts) = self else { return canFail ? [] : [self] }
        return Array(parts.prefix { !$0.canFail })
    }

    /// Whether evaluating it can fail.
    public var canFail: Bool {
        if case .arithmetic = self, kind != .double { return true }
        return containsChild { $0.canFail }
    }

    /// The kind of value that it gives; nil for a bare nil.
    var kind: AttributeKind? {
        switch self {
        case .literal(let value): return value.kind
        case .attribute(_, _, let kind, _): return kind
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every: return .bool
        case .count, .length, .caseInsensitiveOrder: return .int
        case .least(let list), .greatest(let list):
            switch list.kind {
            case .strings: return .string
            case .links: return .uuid
            default: return nil
            }
        case .coalesce(let first, let second): return first.kind ?? second.kind
        case .conditional(_, let first, let second): return first.kind ?? second.kind
        case .arithmetic(_, let left, let right): return left.kind ?? right.kind
        }
    }

    /// Whether every record fulfils it.
    public var isAlwaysTrue: Bool {
        switch self {
        case .literal(.bool(true)): return true
        case .and(let parts): return parts.allSatisfy(\.isAlwaysTrue)
        default: return false
        }
    }

    /// A condition of the form `attribute of the record asked for, comparison, constant`, turned so that the attribute
    /// is on the left; the form that indexes answer.
    public var rootComparison: (position: Int, comparison: FilterExpression.Comparison, value: Value)? {
        guard case .compare(let comparison, let left, let right) = self else { return nil }
        switch (left, right) {
        case (.attribute(let path, let position, _, _), .literal(let value)) where path.isRoot:
            return (position, comparison, value)
        case (.literal(let value), .attribute(let path, let position, _, _)) where path.isRoot:
            return (position, comparison.turned, value)
        default: return nil
        }
    }
}

extension FilterExpression.Comparison {
    /// The comparison with its sides exchanged.
    public var turned: FilterExpression.Comparison {
        switch self {
        case .equal, .notEqual: return self
        case .less: return .greater
        case .lessOrEqual: return .greaterOrEqual
        case .greater: return .less
        case .greaterOrEqual: return .lessOrEqual
        }
    }
}

extension FilterExpression {
    /// Whether something in it is calculated, which may fail; whether the numbers are whole is known only once it is
    /// bound.
    var calculates: Bool {
        switch self {
        case .literal, .attribute, .exists: false
        case .arithmetic: true
        case .not(let inner), .isIn(let inner, _), .length(let inner), .least(let inner), .greatest(let inner):
            inner.calculates
        case .and(let parts), .or(let parts): parts.contains(where: \.calculates)
        case .compare(_, let left, let right), .text(_, let left, let right), .coalesce(let left, let right),
            .caseInsensitiveOrder(let left, let right):
            left.calculates || right.calculates
        case .some(_, _, let inner), .every(_, _, let inner), .count(_, _, let inner): inner.calculates
        case .conditional(let test, let first, let second):
            test.calculates || first.calculates || second.calculates
        }
    }
}

@_spi(Engines) extension BoundExpression {
    /// A record's own attribute.
    public static func rootAttribute(_ position: Int, _ attribute: AttributeDescription) -> BoundExpression {
        .attribute(
            BoundPath(variable: 0, hops: []),
            position: position,
            kind: attribute.kind,
            isOptional: attribute.isOptional
        )
    }

    /// A condition on the members of a collection as one on the record asked for; nil when it is about other records, too.
    public func rebased(fromMembersOf collection: BoundCollection) -> BoundExpression? {
        moved { path in
            path.variable == collection.variable ? BoundPath(variable: 0, hops: path.hops) : nil
        }
    }

    /// A condition that is about nothing but the record to which one step leads, as one on the record asked for, and that
    /// step; nil when it is about the record asked for itself, or about nothing.
    public func rebasedBehindFirstHop() -> (hop: BoundPath.Hop, condition: BoundExpression)? {
        var first: BoundPath.Hop?
        let condition = moved { path in
            guard path.variable == 0, let hop = path.hops.first, first == nil || first == hop else { return nil }
            first = hop
            return BoundPath(variable: 0, hops: Array(path.hops.dropFirst()))
        }
        guard let first, let condition else { return nil }
        return (first, condition)
    }

    /// The expression with every path replaced that does not begin inside of it; nil when one of them cannot be.
    private func moved(_ move: (BoundPath) -> BoundPath?) -> BoundExpression? {
        try? moved([]) { (path: BoundPath) throws(Unmovable) in
            guard let path = move(path) else { throw Unmovable() }
            return path
        }
    }

    /// - Parameter inner: the variables that collections around it bind.
    private func moved(
        _ inner: Set<Int>,
        _ move: (BoundPath) throws(Unmovable) -> BoundPath
    ) throws(Unmovable) -> BoundExpression {
        func moved(_ path: BoundPath) throws(Unmovable) -> BoundPath {
            inner.contains(path.variable) ? path : try move(path)
        }
        func members(
            _ collection: BoundCollection,
            _ condition: BoundExpression
        ) throws(Unmovable) -> (BoundCollection, BoundExpression) {
            // The variable of the record asked for must not be hidden, since paths are moved to it.
            guard collection.variable != 0 else { throw Unmovable() }
            let path = try moved(collection.path)
            let condition = try condition.moved(inner.union([collection.variable]), move)
            return (collection.at(path), condition)
        }
        switch self {
        case .attribute(let path, let position, let kind, let isOptional):
            return .attribute(try moved(path), position: position, kind: kind, isOptional: isOptional)
        case .exists(let path):
            let path = try moved(path)
            return path.isRoot ? .literal(.bool(true)) : .exists(path)
        case .some(let collection, let condition):
            let (collection, condition) = try members(collection, condition)
            return .some(collection, condition)
        case .every(let collection, let condition):
            let (collection, condition) = try members(collection, condition)
            return .every(collection, condition)
        case .count(let collection, let condition):
            let (collection, condition) = try members(collection, condition)
            return .count(collection, condition)
        default:
            return try mapChildren { (part: BoundExpression) throws(Unmovable) in try part.moved(inner, move) }
        }
    }
}

/// A path that cannot be moved.
private struct Unmovable: Error {}

extension BoundCollection {
    /// The same of the record at another path.
    fileprivate func at(_ path: BoundPath) -> BoundCollection {
        BoundCollection(path: path, storage: storage, destination: destination, variable: variable)
    }
}

extension BoundExpression {
    /// The same with everything worked out that does not depend on records. What fails stays, to fail where it did.
    func folded() -> BoundExpression {
        switch self {
        case .and(let parts): return .foldedConjunction(parts)
        case .or(let parts): return .foldedDisjunction(parts)
        case .compare(let comparison, let left, let right):
            return .foldedComparison(comparison, left.folded(), right.folded())
        case .isIn(let member, let values) where values.isEmpty && !member.folded().canFail:
            return .literal(.bool(false))
        case .coalesce(let first, let second):
            let first = first.folded()
            guard case .literal(let value) = first else { return .coalesce(first, second.folded()) }
            return value.isNull ? second.folded() : first
        case .conditional(let test, let first, let second):
            let test = test.folded()
            guard case .literal(let value) = test else { return .conditional(test, first.folded(), second.folded()) }
            return value == .bool(true) ? first.folded() : second.folded()
        case .literal, .attribute, .exists: return self
        case .some, .every, .count: return mapChildren { $0.folded() }
        case .not, .isIn, .text, .length, .least, .greatest, .caseInsensitiveOrder, .arithmetic:
            return mapChildren { $0.folded() }.calculated
        }
    }

    /// The value of an expression whose parts are constants.
    private var calculated: BoundExpression {
        guard !containsChild(where: { !$0.isLiteral }), let value = try? FilterEvaluator.value(of: self) else {
            return self
        }
        return .literal(value)
    }

    private var isLiteral: Bool {
        if case .literal = self { return true }
        return false
    }

    private static func foldedComparison(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression
    ) -> BoundExpression {
        let isOrdered = comparison != .equal && comparison != .notEqual
        // An order comparison with nil is false.
        if isOrdered, left == .literal(.null) || right == .literal(.null), !left.canFail, !right.canFail {
            return .literal(.bool(false))
        }
        return BoundExpression.compare(comparison, left, right).calculated
    }

    private static func foldedConjunction(_ parts: [BoundExpression]) -> BoundExpression {
        var kept: [BoundExpression] = []
        for part in parts {
            let part = part.folded()
            guard case .literal(let value) = part else {
                kept.append(part)
                continue
            }
            if value == .bool(true) { continue }
            // Later terms are never evaluated; earlier ones matter only if they can fail.
            guard kept.contains(where: \.canFail) else { return .literal(.bool(false)) }
            return .and(kept + [.literal(.bool(false))])
        }
        return kept.isEmpty ? .literal(.bool(true)) : .and(kept)
    }

    private static func foldedDisjunction(_ parts: [BoundExpression]) -> BoundExpression {
        var kept: [BoundExpression] = []
        for part in parts {
            let part = part.folded()
            guard case .literal(let value) = part else {
                kept.append(part)
                continue
            }
            if value != .bool(true) { continue }
            guard kept.contains(where: \.canFail) else { return .literal(.bool(true)) }
            return .or(kept + [.literal(.bool(true))])
        }
        return kept.isEmpty ? .literal(.bool(false)) : .or(kept)
    }
}
