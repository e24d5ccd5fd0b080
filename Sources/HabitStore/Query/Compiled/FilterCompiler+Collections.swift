import Foundation

extension FilterCompiler {
    /// Whether one of the related records fulfils a condition.
    mutating func some(_ collection: BoundCollection, _ inner: BoundExpression, _ scope: Scope) -> FilterTest {
        count(collection, inner, isIn: FilterRange(.greaterOrEqual, 1), stopsEarly: true, scope)
    }

    /// Whether all related records fulfil a condition.
    mutating func every(_ collection: BoundCollection, _ inner: BoundExpression, _ scope: Scope) -> FilterTest {
        if inner.isAlwaysTrue { return { _ in true } }
        guard let members = members(collection, scope) else { return { _ in true } }
        let test = test(inner, scope.adding(collection, members.slot))
        return { try members.forEach($0, test) }
    }

    /// How many related records fulfil a condition.
    mutating func count(_ collection: BoundCollection, _ inner: BoundExpression, _ scope: Scope) -> FilterInt {
        guard let members = members(collection, scope) else { return { _ in 0 } }
        if inner.isAlwaysTrue { return { try members.count($0, limit: nil) } }
        let test = test(inner, scope.adding(collection, members.slot))
        return { rows in
            var count: Int64 = 0
            _ = try members.forEach(rows) { rows in
                if try test(rows) { count &+= 1 }
                return true
            }
            return count
        }
    }

    /// Whether as many related records fulfil a condition as a range lets through. It stops once that is decided, unless
    /// looking at the others may fail.
    mutating func count(
        _ collection: BoundCollection,
        _ inner: BoundExpression,
        isIn range: FilterRange<Int64>,
        _ scope: Scope
    ) -> FilterTest {
        count(collection, inner, isIn: range, stopsEarly: !inner.canFail, scope)
    }

    private mutating func count(
        _ collection: BoundCollection,
        _ inner: BoundExpression,
        isIn range: FilterRange<Int64>,
        stopsEarly: Bool,
        _ scope: Scope
    ) -> FilterTest {
        guard let members = members(collection, scope) else {
            let holds = range.holds(0)
            return { _ in holds }
        }
        // So many decide: there are too many, or enough where there cannot be too many.
        let deciding =
            range.greatest == .max ? max(0, range.least) : max(0, range.greatest.addingReportingOverflow(1).0)
        let limit = stopsEarly ? Int(deciding) : nil
        if inner.isAlwaysTrue { return { range.holds(try members.count($0, limit: limit)) } }
        let test = test(inner, scope.adding(collection, members.slot))
        return { rows in
            var count: Int64 = 0
            if limit != 0 {
                _ = try members.forEach(rows) { rows in
                    if try test(rows) { count &+= 1 }
                    return !stopsEarly || count < deciding
                }
            }
            return range.holds(count)
        }
    }

    private mutating func members(_ collection: BoundCollection, _ scope: Scope) -> RelatedMembers? {
        guard let (source, entity) = source(collection.path, scope) else { return nil }
        var links: AttributePlace?
        var reference = 0
        switch collection.storage {
        case .linked(let attribute):
            links = AttributePlace(source, position: attribute, entity: schema.entities[entity])
        case .referring(let attribute), .linking(let attribute): reference = attribute
        }
        return RelatedMembers(
            source: source,
            links: links,
            reference: reference,
            destination: collection.destination,
            slot: addSlot(),
            records: records
        )
    }
}

extension FilterCompiler.Scope {
    /// The scope of a condition on a collection's members.
    fileprivate func adding(_ collection: BoundCollection, _ slot: Int) -> FilterCompiler.Scope {
        var scope = self
        scope[collection.variable] = FilterCompiler.BoundVariable(slot: slot, entity: collection.destination)
        return scope
    }
}
