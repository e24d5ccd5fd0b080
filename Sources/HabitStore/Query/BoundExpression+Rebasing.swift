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
        moved([]) { path in
            path.variable == collection.variable ? BoundPath(variable: 0, hops: path.hops) : nil
        }
    }

    /// A condition that is about nothing but the record to which one step leads, as one on the record asked for, and that
    /// step; nil when it is about the record asked for itself, or about nothing.
    public func rebasedBehindFirstHop() -> (hop: BoundPath.Hop, condition: BoundExpression)? {
        var first: BoundPath.Hop?
        let condition = moved([]) { path in
            guard path.variable == 0, let hop = path.hops.first, first == nil || first == hop else { return nil }
            first = hop
            return BoundPath(variable: 0, hops: Array(path.hops.dropFirst()))
        }
        guard let first, let condition else { return nil }
        return (first, condition)
    }

    /// The expression with every path replaced that does not begin inside of it; nil when one of them cannot be.
    ///
    /// - Parameter inner: the variables that collections around it bind.
    fileprivate func moved(_ inner: Set<Int>, _ move: (BoundPath) -> BoundPath?) -> BoundExpression? {
        func moved(_ expression: BoundExpression) -> BoundExpression? { expression.moved(inner, move) }
        func all(_ parts: [BoundExpression]) -> [BoundExpression]? {
            var result: [BoundExpression] = []
            for part in parts {
                guard let part = moved(part) else { return nil }
                result.append(part)
            }
            return result
        }
        func both(
            _ left: BoundExpression,
            _ right: BoundExpression,
            _ join: (BoundExpression, BoundExpression) -> BoundExpression
        ) -> BoundExpression? {
            guard let left = moved(left), let right = moved(right) else { return nil }
            return join(left, right)
        }
        switch self {
        case .literal: return self
        case .attribute(let path, let position, let kind, let isOptional):
            return path.moved(inner, move).map {
                .attribute($0, position: position, kind: kind, isOptional: isOptional)
            }
        case .exists(let path):
            return path.moved(inner, move).map { $0.isRoot ? .literal(.bool(true)) : .exists($0) }
        case .not(let condition): return moved(condition).map { .not($0) }
        case .and(let parts): return all(parts).map { .and($0) }
        case .or(let parts): return all(parts).map { .or($0) }
        case .compare(let comparison, let left, let right): return both(left, right) { .compare(comparison, $0, $1) }
        case .isIn(let member, let values): return moved(member).map { .isIn($0, values) }
        case .text(let test, let text, let part): return both(text, part) { .text(test, $0, $1) }
        case .some(let collection, let condition):
            return collection.moved(condition, inner, move).map { .some($0, $1) }
        case .every(let collection, let condition):
            return collection.moved(condition, inner, move).map { .every($0, $1) }
        case .count(let collection, let condition):
            return collection.moved(condition, inner, move).map { .count($0, $1) }
        case .length(let value): return moved(value).map { .length($0) }
        case .coalesce(let first, let second): return both(first, second) { .coalesce($0, $1) }
        case .conditional(let test, let first, let second):
            guard let test = moved(test) else { return nil }
            return both(first, second) { .conditional(test, $0, $1) }
        case .least(let list): return moved(list).map { .least($0) }
        case .greatest(let list): return moved(list).map { .greatest($0) }
        case .caseInsensitiveOrder(let left, let right): return both(left, right) { .caseInsensitiveOrder($0, $1) }
        case .arithmetic(let operation, let left, let right):
            return both(left, right) { .arithmetic(operation, $0, $1) }
        }
    }
}

extension BoundPath {
    fileprivate func moved(_ inner: Set<Int>, _ move: (BoundPath) -> BoundPath?) -> BoundPath? {
        inner.contains(variable) ? self : move(self)
    }
}

extension BoundCollection {
    fileprivate func moved(
        _ condition: BoundExpression,
        _ inner: Set<Int>,
        _ move: (BoundPath) -> BoundPath?
    ) -> (BoundCollection, BoundExpression)? {
        // The variable of the record asked for must not be hidden, since paths are moved to it.
        guard variable != 0, let path = path.moved(inner, move),
            let condition = condition.moved(inner.union([variable]), move)
        else { return nil }
        let collection = BoundCollection(path: path, storage: storage, destination: destination, variable: variable)
        return (collection, condition)
    }
}
