import Foundation
import HabitStore
import RolloutTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Each stage, with each fault of either store: what callers are told is true, and nothing is lost or written twice.
@Suite(.timeLimit(.minutes(5)))
struct FaultTableTests {
    struct Cell: Sendable, CustomTestStringConvertible {
        let fault: FaultCell
        let rollout: RolloutUnderTest

        var testDescription: String { "\(rollout) at \(fault)" }

        /// Both ways round in turn: which engine it is must not matter.
        static func both(_ faults: [FaultCell]) -> [Cell] {
            faults.enumerated().map { number, fault in
                let isEven = (number / 2 + fault.stage.position).isMultiple(of: 2)
                return Cell(fault: fault, rollout: isEven ? .fromSQLite : .fromLMDB)
            }
        }
    }

    @Test(arguments: Cell.both(FaultCell.table))
    func whatCallersAreToldIsTrueAndNothingIsLostOrWrittenTwice(cell: Cell) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        try await cell.fault.verify(cell.rollout)
    }

    @Test(arguments: Cell.both(FaultCell.kills))
    func theKillSwitchNeedsNothingOfTheNewStoreAndServesNothingStale(cell: Cell) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        try await cell.fault.verify(cell.rollout)
    }
}
