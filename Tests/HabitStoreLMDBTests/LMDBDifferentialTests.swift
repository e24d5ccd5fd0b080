import HabitStoreTesting
import Testing

@Suite("LMDB against the store in memory")
struct LMDBDifferentialTests {
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func answersWhatTheReferenceAnswers(seed: UInt64) throws {
        let report = try DifferentialTest(seed: seed, operations: 5_000, queries: 1_250).run(against: .lmdb)
        print(report)
        #expect(report.answered > 300)
    }
}
