import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting

extension StoreUnderTest {
    /// A store that treats nil as unknown, as SQL does: a habit without a category does not match `!=` either.
    static let sqlMinded = StoreUnderTest(name: "liar", isDurable: false) { _, schema, identity, clock in
        ForgetfulStore(try InMemoryHabitStore(schema: schema, identity: identity, now: clock)) { fetch, row in
            guard fetch.filter.description.contains("category !=") else { return false }
            return try row.value(at: 4).isNull
        }
    }

    /// A store that applies a limit before it sorts.
    static let hasty = StoreUnderTest(name: "hasty", isDurable: false) { _, schema, identity, clock in
        ForgetfulStore(try InMemoryHabitStore(schema: schema, identity: identity, now: clock)) { fetch, row in
            guard fetch.query.limit != nil, fetch.query.order.count > 1 else { return false }
            return try row.value(at: 0) > .uuid(UUID(uuid: (128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
        }
    }
}

extension Value {
    fileprivate static func > (left: Value, right: Value) -> Bool { left.order(comparedWith: right) > 0 }
}
