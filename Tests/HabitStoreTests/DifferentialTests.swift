import HabitStoreTesting
import Testing

@Suite("Stores in lockstep")
struct DifferentialTests {
    /// Foundation's evaluation against lowering and the filters' own evaluation.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func loweredPredicatesMeanWhatFoundationSays(_ seed: UInt64) throws {
        let report = try DifferentialTest(seed: seed, operations: 3_000, queries: 1_000).run(against: .lowering)
        #expect(report.queries == 1_000, "\(report)")
        #expect(report.operations >= 3_000, "\(report)")
        // A test whose queries find nothing, or whose operations are all refused, would prove nothing.
        #expect(report.answered > 400, "\(report)")
        #expect(report.failed > 0, "\(report)")
        #expect(report.refused > 50 && report.refused < report.transactions / 3, "\(report)")
    }

    @Test func theSameSeedDoesTheSame() throws {
        let test = DifferentialTest(seed: 99, operations: 300, queries: 50)
        let (first, second) = (try test.run(against: .inMemory), try test.run(against: .inMemory))
        #expect(first == second)
    }

    /// The numbers are those of Vigna's reference implementation in C for this seed.
    @Test func seededNumbersAreThoseOfSplitMix64() {
        var generator = SeededGenerator(seed: 1_234_567)
        let numbers = (0..<3).map { _ in generator.next() }
        #expect(numbers == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
    }
}
