import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreMapped
import HabitTracker
import MappedTesting
import RolloutTesting
import Testing

/// Users move out of the app's own file and back, as between any two engines.
struct MappedRolloutTests {
    enum Direction: String, CaseIterable {
        case fromFile, toFile
    }

    private static let rollouts: [Direction: RolloutUnderTest] = {
        let provider = AppLayout(keys: .numbers).provider(HabitSchema.current)
        return [
            .fromFile: RolloutUnderTest(from: provider, to: LMDBProvider()),
            .toFile: RolloutUnderTest(from: LMDBProvider(), to: provider),
        ]
    }()

    @Test(arguments: Direction.allCases, RolloutContract.clauses)
    func keepsTheContract(_ direction: Direction, _ clause: RolloutContract.Clause) throws {
        try clause.verify(try #require(Self.rollouts[direction]))
    }

    @Test(arguments: Direction.allCases, [UInt64.random(in: 0...UInt64.max)])
    func survivesFaults(_ direction: Direction, _ seed: UInt64) async throws {
        print("faults \(direction): seed \(seed)")
        let rollout = try #require(Self.rollouts[direction])
        let report = try await RolloutFaultTest(seed: seed, faults: 12).run(against: rollout)
        #expect(report.faults == 12)
    }

    /// Every cell of the table with `make mapped-contract`, which takes minutes.
    @Test(.enabled(if: MappedContractTests.isWhole), arguments: FaultCell.table + FaultCell.kills, Direction.allCases)
    func callersGetTrueAnswers(_ cell: FaultCell, _ direction: Direction) async throws {
        try await cell.verify(try #require(Self.rollouts[direction]))
    }
}
