import HabitStoreTesting
import Testing

@Suite("LMDB against the store in memory")
struct LMDBDifferentialTests {
    @Test(arguments: [1, UInt64.random(in: 2...UInt64.max)])
    func answersWhatTheReferenceAnswers(seed: UInt64) throws {
        print("LMDB differential test: seed \(seed)")
        let report = try DifferentialTest(seed: seed, operations: 5_000, queries: 1_250).run(against: .lmdb)
        print(report)
        #expect(report.answered > 300)
    }
}
