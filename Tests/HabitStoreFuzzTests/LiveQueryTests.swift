import Foundation
@_spi(Engines) import HabitStore
import Testing
import Trials

@_spi(Engines) @testable import HabitStoreTesting

@Suite("Live queries over random commits")
struct LiveQueryFuzzTests {
    /// 5,100 commits in all.
    @Test(arguments: [StoreUnderTest.sqlite, .lmdb, .inMemory], [1, 2])
    func theAnswerIsThatOfAFetchAfterEachCommit(store: StoreUnderTest, seed: UInt64) throws {
        let report = try LiveQueryTest(seed: seed, commits: 850).run(against: store)
        print(report)
        #expect(report.answers > 300)
        #expect(report.patched > 300)
    }

    /// The comparison above proves nothing about faults that it cannot find. Some faults need more luck than 5,000 commits have.
    @Test(arguments: LiveMutant.allCases) func everyPlantedFaultIsFound(mutant: LiveMutant) throws {
        // Where the rarest one shows soonest.
        for seed in mutant == .alwaysComplete ? [6, 7] : [3, 4, 5, 6, 7] as [UInt64] {
            do {
                _ = try LiveMutant.$planted.withValue(mutant) {
                    try LiveQueryTest(seed: seed, commits: 5_000).run(against: .lmdb)
                }
            } catch let failure as Disagreement {
                return print("\(mutant.rawValue): found after \(failure.step) commits of seed \(seed)")
            }
        }
        Issue.record("\(mutant.rawValue): not found")
    }
}
