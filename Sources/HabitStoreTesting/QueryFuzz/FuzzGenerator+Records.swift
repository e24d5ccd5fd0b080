import HabitStore

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
