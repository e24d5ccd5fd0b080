import HabitStoreTesting
import Testing

@Suite("The store in memory, with lowered predicates")
struct LoweringContractTests {
    @Test(arguments: StoreContract.clauses)
    func keepsTheContract(_ clause: StoreContract.Clause) async throws { try await clause.verify(.lowering) }
}
