import Foundation
import HabitStore

extension FuzzGenerator {
    /// A condition on a value.
    mutating func test(_ depth: Int) -> FuzzExpression {
        let value = random.chance(85) ? access() : expression(random.pick(Self.computed), depth)
        return test(value, depth)
    }

    /// Types whose values are often computed from others.
    private static let computed: [FuzzType] = [
        .int, .double, .string, .int.optional, .string.optional, .double.optional,
    ]

    /// A condition on a value.
    mutating func test(_ value: FuzzExpression, _ depth: Int) -> FuzzExpression {
        guard let scalar = value.type.scalar else { return .yes }
        if value.type.isOptional { return optionalTest(value, scalar, depth) }
        switch random.int(0...99) {
        case 0..<3 where !isForFilter: return .operation(.typeCheck(castTarget(value.type)), [value], .bool)
        case 0..<7 where isForFilter: return order(value, depth)
        case 7..<10 where !isForFilter:
            let target = castTarget(value.type)
            return test(.operation(.conditionalCast(target), [value], target.optional), depth)
        case 10..<13 where !isForFilter:
            return test(.operation(.forceCast(value.type), [value], value.type), depth)
        default: break
        }
        switch scalar {
        case .bool: return random.chance(70) ? value : equality(value, depth)
        case .int, .double, .date, .uuid: return orderedTest(value, depth)
        case .string: return textTest(value, depth)
        case .strings: return listTest(value, depth)
        case .links: return linksTest(value, depth)
        case .data:
            return random.chance(50)
                ? equality(value, depth) : test(.operation(.length, [value], .int), depth)
        case .enumeration(let custom): return enumTest(value, custom, depth)
        case .json: return isForFilter ? .yes : equality(value, 0)
        }
    }

    private mutating func castTarget(_ type: FuzzType) -> FuzzType {
        random.chance(75) ? type.wrapped : random.pick([.int, .string, .double, .bool])
    }

    private mutating func optionalTest(_ value: FuzzExpression, _ scalar: FuzzScalar, _ depth: Int) -> FuzzExpression {
        let type = value.type
        switch random.int(0...99) {
        case 0..<18:
            return .operation(
                .compare(random.chance(50) ? .equal : .notEqual),
                [value, .constant(.null, type)],
                .bool
            )
        case 18..<40: return equality(value, depth)
        case 40..<50: return membership(value)
        case 50..<62 where isForFilter: return order(value, depth)
        case 50..<78:
            let other = random.chance(80) ? constant(type.wrapped, like: value) : expression(type.wrapped, depth - 1)
            return test(.operation(.coalesce, [value, other], type.wrapped), depth)
        case 78..<94:
            let (variable, body) = binding(type.wrapped) { generator, inner in generator.test(inner, depth - 1) }
            return settled(.binding(.flatMap, variable: variable, value, body, body.type.optional))
        case 94..<96 where !isForFilter: return test(.operation(.forcedUnwrap, [value], type.wrapped), depth)
        case 96..<98 where !isForFilter: return test(.operation(.forceCast(type.wrapped), [value], type.wrapped), depth)
        case 98... where !isForFilter: return .operation(.typeCheck(type.wrapped), [value], .bool)
        default: return equality(value, depth)
        }
    }

    /// A test for equality or inequality with a value of the same type.
    mutating func equality(_ value: FuzzExpression, _ depth: Int) -> FuzzExpression {
        let operation = FuzzOperation.compare(random.chance(60) ? .equal : .notEqual)
        let other = operand(value, depth)
        return .operation(operation, random.chance(85) ? [value, other] : [other, value], .bool)
    }

    /// The other operand of a value, usually a constant.
    mutating func operand(_ value: FuzzExpression, _ depth: Int) -> FuzzExpression {
        guard depth > 0, random.chance(22) else { return constant(value.type, like: value) }
        return expression(value.type, depth - 1)
    }

    private mutating func membership(_ value: FuzzExpression) -> FuzzExpression {
        let isSet = random.chance(40)
        let members = (0..<random.pick([0, 1, 2, 3, 5])).map { _ in
            value.type.isOptional && random.chance(15) ? Value.null : constantValue(value.type, like: value)
        }
        return .operation(.isIn(members, isSet: isSet), [value], .bool)
    }

    /// An order comparison that only filters have.
    private mutating func order(_ value: FuzzExpression, _ depth: Int) -> FuzzExpression {
        if case .json? = value.type.scalar { return .yes }
        if case .enumeration? = value.type.scalar { return equality(value, 0) }
        let operation = FuzzOperation.order(random.pick([.less, .lessOrEqual, .greater, .greaterOrEqual]))
        return .operation(operation, [value, operand(value, depth)], .bool)
    }

    private mutating func orderedTest(_ value: FuzzExpression, _ depth: Int) -> FuzzExpression {
        switch random.int(0...99) {
        case 0..<50:
            let other = operand(value, depth)
            return .operation(.compare(comparison()), random.chance(85) ? [value, other] : [other, value], .bool)
        case 50..<65:
            let bounds = bounds(value)
            return .operation(
                .inRange(isClosed: random.chance(50), isCaptured: true),
                [value, .constant(bounds.0, value.type), .constant(bounds.1, value.type)],
                .bool
            )
        case 65..<70 where !isForFilter:
            return .operation(
                .inRange(isClosed: random.chance(50), isCaptured: false),
                [value, operand(value, depth), operand(value, depth)],
                .bool
            )
        case 70..<74:
            return .operation(
                .inPartialRange(random.pick([.from, .through, .upTo])),
                [value, constant(value.type, like: value)],
                .bool
            )
        case 74..<90: return membership(value)
        default:
            guard value.type == .int || value.type == .double else { return equality(value, depth) }
            return test(arithmetic(value, depth), depth - 1)
        }
    }

    /// Two constants that are valid bounds of a Swift range.
    private mutating func bounds(_ value: FuzzExpression) -> (Value, Value) {
        let bounds = (constantValue(value.type, like: value), constantValue(value.type, like: value))
        if FuzzOrder.isRange(bounds.0, bounds.1) { return bounds }
        if FuzzOrder.isRange(bounds.1, bounds.0) { return (bounds.1, bounds.0) }
        // Values that occur may be NaN, or texts whose orders differ.
        let other = constantValue(value.type, like: nil)
        return (other, other)
    }

    // MARK: Text and lists

    private mutating func textTest(_ value: FuzzExpression, _ depth: Int) -> FuzzExpression {
        switch random.int(0...99) {
        case 0..<45:
            let tests: [FilterExpression.TextTest] = [.contains, .contains, .beginsWith, .beginsWith, .searches]
            let test = random.pick(isForFilter ? tests + [.endsWith] : tests)
            let part =
                random.chance(88) || depth <= 0
                ? FuzzExpression.constant(.string(part(of: value)), .string) : expression(.string, depth - 1)
            return .operation(.text(test), [value, part], .bool)
        case 45..<53: return test(.operation(.length, [value], .int), depth)
        case 53..<57 where !isForFilter && random.chance(60):
            return .operation(.matches(random.pick(FuzzRegex.allCases)), [value], .bool)
        case 53..<57: return .operation(.isEmpty, [value], .bool)
        case 57..<62:
            let order = random.pick([ComparisonResult.orderedSame, .orderedSame, .orderedAscending, .orderedDescending])
            return .operation(.caseOrder(order, isNegated: random.chance(30)), [value, operand(value, depth)], .bool)
        case 62..<65 where !isForFilter: return test(lookup(value), depth)
        default: return orderedTest(value, depth)
        }
    }

    private mutating func lookup(_ key: FuzzExpression) -> FuzzExpression {
        var dictionary: [String: Int] = [:]
        for _ in 0..<random.int(0...4) {
            guard case .string(let text) = constantValue(.string, like: key) else { continue }
            dictionary[text] = EdgeValues.int(&random)
        }
        return random.chance(50)
            ? .operation(.lookup(dictionary), [key], .int.optional)
            : .operation(.lookup(dictionary), [key, constant(.int, like: nil)], .int)
    }

    private mutating func listTest(_ value: FuzzExpression, _ depth: Int) -> FuzzExpression {
        switch random.int(0...99) {
        case 0..<35: return .operation(.hasElement, [value, element(of: value)], .bool)
        case 35..<45: return test(.operation(.length, [value], .int), depth)
        case 45..<52: return .operation(.isEmpty, [value], .bool)
        case 52..<62: return equality(value, depth)
        case 62..<72 where !isForFilter && collectionDepth < 3 && depth > 0:
            return elementTest(random.chance(60) ? .some : .every, value, depth)
        case 72..<76 where !isForFilter && collectionDepth < 3 && depth > 0:
            return test(elementTest(.filter, value, depth), depth - 1)
        case 76..<85:
            let ends: [FuzzOperation] = isForFilter ? [.least, .greatest] : [.least, .greatest, .first, .last]
            return test(.operation(random.pick(ends), [value], .string.optional), depth)
        case 85..<92 where !isForFilter:
            return test(
                .operation(.element, [value, .constant(.int(Int64(random.int(0...1))), .int)], .string),
                depth
            )
        case 92..<96 where !isForFilter:
            return .operation(.listBegins, [value, constant(value.type, like: value)], .bool)
        case 96... where !isForFilter:
            return .operation(.listHasPart, [value, constant(value.type, like: value)], .bool)
        default: return equality(value, depth)
        }
    }

    private mutating func linksTest(_ value: FuzzExpression, _ depth: Int) -> FuzzExpression {
        switch random.int(0...99) {
        case 0..<50: return .operation(.hasElement, [value, element(of: value)], .bool)
        case 50..<65: return test(.operation(.length, [value], .int), depth)
        case 65..<75: return .operation(.isEmpty, [value], .bool)
        case 75..<85: return test(.operation(random.chance(50) ? .least : .greatest, [value], .uuid.optional), depth)
        default: return equality(value, depth)
        }
    }

    private mutating func enumTest(_ value: FuzzExpression, _ custom: FuzzCustomType, _ depth: Int) -> FuzzExpression {
        switch random.int(0...99) {
        case 0..<35: return equality(value, depth)
        case 35..<50: return membership(value)
        case 50..<60 where !isForFilter && custom.type is any Comparable.Type:
            return .operation(
                .compare(random.pick([.less, .lessOrEqual, .greater, .greaterOrEqual])),
                [value, operand(value, 0)],
                .bool
            )
        default:
            let raw: FuzzType = value.type.scalar?.kind == .int ? .int : .string
            return test(.operation(.rawValue, [value], raw), depth)
        }
    }
}

extension FuzzGenerator {
    /// An attribute of one of the records, or of a record that to-one relationships lead to.
    mutating func access() -> FuzzExpression {
        // Variables that are values are used directly.
        if let value = scope.last, value.type.entity == nil, random.chance(70) { return value }
        return access(record())
    }

    private mutating func access(_ record: FuzzExpression) -> FuzzExpression {
        guard let entity = record.type.entity else { return record }
        if let hop = random.pickAny(profile.toOne[entity]), random.chance(30) {
            let target = FuzzExpression.relationship(record, hop.property, hop.type)
            if !isForFilter, random.chance(3) {
                return access(.operation(.forcedUnwrap, [target], hop.type.wrapped))
            }
            let (variable, inner) = binding(hop.type.wrapped) { generator, record in generator.access(record) }
            return .binding(.flatMap, variable: variable, target, inner, inner.type.optional)
        }
        // A large part of the language concerns lists, but few attributes are lists.
        let attributes = profile.attributes[entity]
        let lists = random.chance(10) ? attributes.filter { $0.type.wrapped == .strings } : []
        let attribute = random.pick(lists.isEmpty ? attributes : lists)
        return .attribute(record, attribute.property, attribute.type)
    }

    /// A test whether a record exists, or a condition on it.
    mutating func recordTest(_ depth: Int) -> FuzzExpression? {
        let record = record()
        guard let entity = record.type.entity, let hop = random.pickAny(profile.toOne[entity]) else { return nil }
        let target = FuzzExpression.relationship(record, hop.property, hop.type)
        if random.chance(40) {
            return .operation(
                .compare(random.chance(50) ? .equal : .notEqual),
                [target, .constant(.null, hop.type)],
                .bool
            )
        }
        let (variable, body) = binding(hop.type.wrapped) { generator, _ in generator.condition(depth - 1) }
        return settled(.binding(.flatMap, variable: variable, target, body, FuzzType.bool.optional))
    }

    /// A condition from a Boolean that may be nil.
    mutating func settled(_ condition: FuzzExpression) -> FuzzExpression {
        guard condition.type.isOptional else { return condition }
        if random.chance(60) {
            return .operation(.coalesce, [condition, random.chance(75) ? .no : .yes], .bool)
        }
        let flag = random.pick([Value.bool(true), .bool(false), .bool(true), .null])
        return .operation(
            .compare(random.chance(70) ? .equal : .notEqual),
            [condition, .constant(flag, FuzzType.bool.optional)],
            .bool
        )
    }

    // MARK: Collections

    /// A condition on related records.
    mutating func collectionTest(_ depth: Int) -> FuzzExpression? {
        guard collectionDepth < 3 else { return nil }
        let record = record()
        guard let entity = record.type.entity else { return nil }
        if let hop = random.pickAny(profile.toOne[entity]), random.chance(25) {
            // Through a to-one relationship: nil if it leads nowhere.
            let target = FuzzExpression.relationship(record, hop.property, hop.type)
            let (variable, body) = binding(hop.type.wrapped) { generator, record in
                generator.collectionTest(of: record, depth)
            }
            guard let body else { return nil }
            return settled(.binding(.flatMap, variable: variable, target, body, FuzzType.bool.optional))
        }
        return collectionTest(of: record, depth)
    }

    private mutating func collectionTest(of record: FuzzExpression, _ depth: Int) -> FuzzExpression? {
        guard let members = members(of: record, depth) else { return nil }
        switch random.int(0...9) {
        case 0...3: return elementTest(.some, members, depth)
        case 4...5: return elementTest(.every, members, depth)
        case 6...7:
            let count = FuzzExpression.operation(.length, [members], .int)
            return .operation(.compare(comparison()), [count, .constant(.int(Int64(random.int(0...3))), .int)], .bool)
        case 9 where !isForFilter:
            guard let element = members.type.element else { return nil }
            let pick = FuzzExpression.operation(random.chance(70) ? .first : .last, [members], element.optional)
            let (variable, body) = binding(element) { generator, _ in generator.condition(max(0, depth - 2)) }
            return settled(.binding(.flatMap, variable: variable, pick, body, FuzzType.bool.optional))
        default: return .operation(.isEmpty, [members], .bool)
        }
    }

    /// All or some records of a to-many relationship.
    private mutating func members(of record: FuzzExpression, _ depth: Int) -> FuzzExpression? {
        guard let entity = record.type.entity, let relationship = random.pickAny(profile.toMany[entity]) else {
            return nil
        }
        var members = FuzzExpression.relationship(record, relationship.property, relationship.type)
        for _ in 0..<random.pick([0, 0, 0, 1, 1, 2]) { members = elementTest(.filter, members, depth) }
        return members
    }

    /// A condition on the elements of records or of texts.
    mutating func elementTest(_ kind: FuzzBinding, _ members: FuzzExpression, _ depth: Int) -> FuzzExpression {
        collectionDepth += 1
        defer { collectionDepth -= 1 }
        let (variable, body) = binding(members.type.element ?? .string) { generator, _ in
            generator.random.chance(8) ? .yes : generator.condition(max(0, depth - 2))
        }
        return .binding(kind, variable: variable, members, body, kind == .filter ? members.type : .bool)
    }

    mutating func comparison() -> FilterExpression.Comparison {
        random.pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .equal])
    }
}
