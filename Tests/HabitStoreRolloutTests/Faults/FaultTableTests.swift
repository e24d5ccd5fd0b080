import Foundation
import HabitStore
import HabitStoreTesting
import RolloutTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Each stage with each fault of either store: callers get true answers, and no write is lost or applied twice.
@Suite(.timeLimit(.minutes(5)))
struct FaultTableTests {
    struct Cell: Sendable, CustomTestStringConvertible {
        let fault: FaultCell
        let rollout: RolloutUnderTest

        var testDescription: String { "\(rollout) at \(fault)" }

        /// Alternates the direction: it must not matter which engine has the fault.
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

    /// At `live` the new store's commit failed, the old store had the write, and the read that should decide the outcome failed too. The caller got
    /// that error and took the write for absent, but it had been carried over.
    @Test(arguments: [Fault.Moment.beforeCommit, .afterCommit], StoreSide.allCases)
    func aWriteIsNotSaidToBeAbsentWhereWhatBecameOfItCannotBeRead(moment: Fault.Moment, side: StoreSide) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        for passing in 0..<12 {
            let user = try FaultyUser(at: .live)
            let store = try user.open()
            let ledger = Ledger()
            ledger.write(store)
            try user.plan(.new).inject(Fault(.fail(.outcomeUnknown), on: [.write], at: moment, times: 1))
            try user.plan(side).inject(
                Fault(.fail(.permissionDenied), on: .reads.union([.replicate]), passing: passing, times: 1)
            )
            ledger.write(store)
            user.heal()
            store.close()
            try user.expectRecovery(ledger)
        }
    }

    @Test(arguments: Cell.both(FaultCell.kills))
    func theKillSwitchNeedsNothingOfTheNewStoreAndServesNothingStale(cell: Cell) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        try await cell.fault.verify(cell.rollout)
    }
}
