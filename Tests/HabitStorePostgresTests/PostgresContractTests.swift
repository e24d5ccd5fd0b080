@_spi(Engines) import HabitStoreTesting
import Testing
import Trials

@Suite("PostgreSQL: the contract of every store", .needsServer)
struct PostgresContractTests {
    @Test(arguments: StoreContract.clauses)
    func keeps(_ clause: StoreContract.Clause) async throws { try await clause.verify(TestServer.store) }
}
