import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitStoreTesting

extension StoreUnderTest {
    /// The store in SQLite.
    static let sqlite = StoreUnderTest(name: "SQLite", isDurable: true) { directory, schema, identity, clock in
        try SQLiteHabitStore(
            path: directory.appendingPathComponent("store.sqlite").path,
            schema: schema,
            options: .init(identity: identity, now: clock)
        )
    }

    /// The store in LMDB.
    static let lmdb = StoreUnderTest(name: "LMDB", isDurable: true) { directory, schema, identity, clock in
        try LMDBHabitStore(
            path: directory.appendingPathComponent("store.lmdb").path,
            schema: schema,
            options: .init(identity: identity, now: clock)
        )
    }

    /// A store that takes nil for unknown, as SQL does: a habit without a category has no other category either.
    static let sqlMinded = StoreUnderTest(name: "liar", isDurable: false) { _, schema, identity, clock in
        ForgetfulStore(try InMemoryHabitStore(schema: schema, identity: identity, now: clock)) { fetch, row in
            guard fetch.filter.description.contains("category !=") else { return false }
            return try row.value(at: 4).isNull
        }
    }

    /// A store that applies a limit before it has sorted.
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
