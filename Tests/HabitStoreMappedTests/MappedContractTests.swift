import HabitStoreTesting
import Testing

/// Everything that an engine has to prove, over tables laid out as an app would.
struct MappedContractTests {
    @Test(arguments: StoreContract.clauses)
    func keepsTheContractOverNumberedKeys(_ clause: StoreContract.Clause) async throws {
        try await clause.verify(AppLayout(keys: .numbers).subject)
    }

    @Test(arguments: StoreContract.clauses)
    func keepsTheContractOverTextKeys(_ clause: StoreContract.Clause) async throws {
        try await clause.verify(AppLayout(keys: .texts).subject)
    }

    @Test(arguments: AppLayout.Keys.allCases, [UInt64.random(in: 0...UInt64.max)])
    func answersWhatTheReferenceAnswers(_ keys: AppLayout.Keys, _ seed: UInt64) throws {
        print(try DifferentialTest(seed: seed).run(against: AppLayout(keys: keys).subject))
    }
}
