import Foundation
@_spi(Engines) import HabitStore
import HabitStoreSQLite
@_spi(Engines) import HabitStoreTesting
import Testing

extension StoreUnderTest {
    /// The store of this target.
    static let sqlite = StoreUnderTest(name: "SQLite", isDurable: true) { directory, schema, identity, clock in
        try SQLiteHabitStore(
            path: directory.appendingPathComponent("store.sqlite").path,
            schema: schema,
            options: .init(identity: identity, now: clock)
        )
    }
}

@Suite("SQLite: the contract of every store")
struct SQLiteContractTests {
    @Test(arguments: StoreContract.clauses)
    func keeps(_ clause: StoreContract.Clause) async throws { try await clause.verify(.sqlite) }
}
