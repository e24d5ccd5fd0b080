@_spi(Engines) import HabitStore

extension ShapeHasher {
    /// Adds a filter without its literals. The value of a boolean, and whether a literal is nil, are part of the structure.
    mutating func add(_ filter: BoundExpression) {
        switch filter {
        case .literal(let value): add(value)
        case .attribute(let path, let position, _, _):
            add(2)
            add(path)
            add(UInt64(position))
        case .exists(let path):
            add(3)
            add(path)
        case .not(let part): add(4, [part])
        case .and(let parts): add(5, parts)
        case .or(let parts): add(6, parts)
        case .compare(let comparison, let left, let right):
            add(comparison.number)
            add(7, [left, right])
        case .isIn(let part, _): add(8, [part])
        case .text(let test, let left, let right):
            add(test.number)
            add(9, [left, right])
        case .some(let collection, let condition): add(10, collection, condition)
        case .every(let collection, let condition): add(11, collection, condition)
        case .count(let collection, let condition): add(12, collection, condition)
        case .length(let part): add(13, [part])
        case .coalesce(let first, let second): add(14, [first, second])
        case .conditional(let test, let first, let second): add(15, [test, first, second])
        case .least(let part): add(16, [part])
        case .greatest(let part): add(17, [part])
        case .caseInsensitiveOrder(let left, let right): add(18, [left, right])
        case .arithmetic(let operation, let left, let right):
            add(operation.number)
            add(19, [left, right])
        }
    }

    private mutating func add(_ tag: UInt64, _ parts: [BoundExpression]) {
        add(tag &+ UInt64(parts.count) &<< 8)
        for part in parts { add(part) }
    }

    private mutating func add(_ tag: UInt64, _ collection: BoundCollection, _ condition: BoundExpression) {
        add(tag)
        add(collection.path)
        switch collection.storage {
        case .referring(let attribute): add(UInt64(attribute) &* 3)
        case .linked(let attribute): add(UInt64(attribute) &* 3 &+ 1)
        case .linking(let attribute): add(UInt64(attribute) &* 3 &+ 2)
        }
        add(condition)
    }

    private mutating func add(_ path: BoundPath) {
        add(UInt64(path.variable) &+ UInt64(path.hops.count) &<< 8)
        for hop in path.hops { add(UInt64(hop.attribute)) }
    }

    private mutating func add(_ literal: Value) {
        switch literal {
        case .null: add(20)
        case .bool(let flag): add(flag ? 22 : 21)
        case .int: add(23)
        case .double: add(24)
        case .string: add(25)
        case .date: add(26)
        case .uuid: add(27)
        case .data: add(28)
        case .strings: add(29)
        case .links: add(30)
        }
    }
}

extension FilterExpression.Comparison {
    /// The same number in every process.
    fileprivate var number: UInt64 {
        switch self {
        case .equal: 1
        case .notEqual: 2
        case .less: 3
        case .lessOrEqual: 4
        case .greater: 5
        case .greaterOrEqual: 6
        }
    }
}

extension FilterExpression.TextTest {
    /// The same number in every process.
    fileprivate var number: UInt64 {
        switch self {
        case .contains: 1
        case .beginsWith: 2
        case .endsWith: 3
        case .searches: 4
        }
    }
}

extension FilterExpression.Arithmetic {
    /// The same number in every process.
    fileprivate var number: UInt64 {
        switch self {
        case .add: 1
        case .subtract: 2
        case .multiply: 3
        case .divide: 4
        case .remainder: 5
        }
    }
}
