import HabitStoreTesting
import Testing

@Suite("The store in memory")
struct InMemoryContractTests {
    @Test(arguments: StoreContract.clauses)
    func keepsTheContract(_ clause: StoreContract.Clause) async throws { try await clause.verify(.inMemory) }
}
