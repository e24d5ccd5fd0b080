import Foundation
import HabitStore
import HabitStoreSQLite
import RolloutTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// The public kit, run in both directions between the two engines of the package, and with one that has no files.
struct StageTableTests {
    static let rollouts: [RolloutUnderTest] = [.fromSQLite, .fromLMDB, .intoMemory, .outOfMemory]

    @Test(arguments: rollouts, RolloutContract.clauses)
    func aRolloutKeepsTheContract(rollout: RolloutUnderTest, clause: RolloutContract.Clause) throws {
        try clause.verify(rollout)
    }

    @Test(arguments: [RolloutUnderTest.fromSQLite, .intoMemory], [UInt64.random(in: 0...UInt64.max)])
    func aRolloutSurvivesFaultsAtRandom(rollout: RolloutUnderTest, seed: UInt64) async throws {
        print("faults from \(rollout): seed \(seed)")
        let report = try await RolloutFaultTest(seed: seed, faults: 12).run(against: rollout)
        #expect(report.faults == 12)
    }

    /// A kit that passes everything would pass every engine.
    @Test func aRolloutToAnEngineThatForgetsWritesBreaksTheContract() async throws {
        let broken = RolloutContract.clauses.filter { clause in
            let rollout = RolloutUnderTest(from: SQLiteProvider(), to: ForgetfulProvider())
            return (try? clause.verify(rollout)) == nil
        }
        #expect(broken.count > RolloutContract.clauses.count / 2, "\(broken.map(\.name))")
    }

    @Test func everyMoveIsOneStageAndStandsInTheEvidence() throws {
        let user = try StagedUser()
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try user.bring(store, to: .complete)
        while try store.stage() > .off { try store.demote() }
        let stages = try store.files.context.evidence.log.read().records.compactMap { record -> [Stage]? in
            guard case .stageChanged(let from, let to, _, _, _, _, _) = record.event else { return nil }
            return [from, to]
        }
        #expect(stages.count == 10)
        #expect(stages.allSatisfy { abs($0[0].position - $0[1].position) == 1 })
    }
}
