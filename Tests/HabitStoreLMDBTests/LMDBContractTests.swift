import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
@_spi(Engines) import HabitStoreTesting
import Testing

extension StoreUnderTest {
    /// The store of this target.
    static let lmdb = StoreUnderTest(name: "LMDB", isDurable: true) { directory, schema, identity, clock in
        try LMDBHabitStore(
            path: directory.appendingPathComponent("store.lmdb").path,
            schema: schema,
            options: .init(identity: identity, now: clock)
        )
    }
}

@Suite("LMDB: the contract of every store")
struct LMDBContractTests {
    @Test(arguments: StoreContract.clauses)
    func keeps(_ clause: StoreContract.Clause) async throws { try await clause.verify(.lmdb) }
}
