import Foundation
import HabitStore
import HabitStoreTesting
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Each stage, with each fault of either store: what callers are told is true, and nothing is lost or written twice.
@Suite(.timeLimit(.minutes(5)))
struct FaultTableTests {
    struct Cell: Sendable, CustomTestStringConvertible {
        let stage: Stage
        let side: StoreSide
        let fault: Fault
        let old: EngineName

        var testDescription: String { "\(stage.rawValue) from \(old.rawValue), \(side.rawValue) store: \(fault)" }

        /// Whether the store is one that this stage needs for writing.
        var isNeeded: Bool { stage.authority == side || (stage.awaitsMirror && stage.mirror == side) }

        /// Whether every write has to succeed.
        var sparesWrites: Bool {
            guard isNeeded else { return true }
            let struck: Fault.Operation = stage.authority == side ? .write : .replicate
            if stage.awaitsMirror, stage.mirror == side, fault.operations.contains(.replicaRead) { return false }
            if !fault.operations.contains(struck) { return true }
            return fault.effect == .fail(.outcomeUnknown) && fault.moment == .afterCommit && fault.times == 1
        }

        /// Whether every read of a process that has the store open has to succeed.
        var sparesReads: Bool { stage.authority != side || !fault.operations.contains(.read) }
    }

    private static let kinds: [(Fault.Effect, Set<Fault.Operation>, Fault.Moment)] = [
        (.fail(.inputOutput), .reads, .beginning),
        (.fail(.limitExceeded), .reads, .beginning),
        (.fail(.busy), .writes, .beginning),
        (.fail(.full), .writes, .beforeCommit),
        (.fail(.inputOutput), .writes, .beforeCommit),
        (.fail(.outcomeUnknown), .writes, .beforeCommit),
        (.fail(.outcomeUnknown), .writes, .afterCommit),
        (.fail(.permissionDenied), .all, .beginning),
        (.fail(.full), [.replicate], .beforeCommit),
        (.hang, .all, .beginning),
        (.hang, .writes, .beforeCommit),
        (.hang, .writes, .afterCommit),
    ]

    static let cells: [Cell] = {
        var cells: [Cell] = []
        for stage in Stage.allCases {
            for side in StoreSide.allCases {
                for (effect, operations, moment) in kinds {
                    for times in [1, nil] {
                        // Both ways round in turn: which engine it is must not matter.
                        let old = EngineName.standard[(cells.count / 2 + stage.position) % 2]
                        let fault = Fault(effect, on: operations, at: moment, times: times)
                        cells.append(Cell(stage: stage, side: side, fault: fault, old: old))
                    }
                }
            }
        }
        return cells
    }()

    @Test(arguments: cells)
    func whatCallersAreToldIsTrueAndNothingIsLostOrWrittenTwice(cell: Cell) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        let user = try FaultyUser(at: cell.stage, old: cell.old)
        defer { user.heal() }
        let store = try user.open()
        let ledger = Ledger()
        #expect(ledger.write(store) == .acknowledged)
        try user.plan(cell.side).inject(cell.fault)
        let isOver = await user.withinSeconds(cell.sparesWrites && cell.sparesReads ? 20 : 0.4) {
            for _ in 0..<3 {
                ledger.write(store)
                ledger.read(store)
            }
        }
        if isOver { try expectTheTable(cell, store, ledger) }
        if cell.sparesWrites && cell.sparesReads { #expect(isOver) }
        user.heal()
        // What was in the way is looked at again by the writes behind it.
        #expect(ledger.writeAgainAndAgain(store) == .acknowledged)
        ledger.read(store)
        store.close()
        try user.expectRecovery(ledger)
    }

    /// What the stage's row promises while the fault lasts.
    private func expectTheTable(_ cell: Cell, _ store: UserStore, _ ledger: Ledger) throws {
        if cell.sparesWrites { #expect(ledger.outcomes.allSatisfy { $0 == .acknowledged }, "\(ledger.outcomes)") }
        if cell.sparesReads { #expect(ledger.readErrors.isEmpty, "\(ledger.readErrors)") }
        if cell.stage.awaitsMirror {
            // Only the write whose commit failed: those behind it are refused before they begin.
            #expect(ledger.outcomes.filter { $0 == .unknown }.count <= 1, "\(ledger.outcomes)")
        }
        if cell.fault.times == 1 {
            #expect(ledger.outcomes.last == .acknowledged, "\(ledger.outcomes)")
        }
        guard cell.stage.authority == .old, cell.side == .new else { return }
        // One write waits for the mirror in vain, the others do not wait any more.
        #expect(ledger.longestSeconds < 0.2 + 2)
        guard cell.stage.mirror == .new, cell.fault.times == nil, cell.fault.operations.contains(.replicate) else {
            return
        }
        switch store.mirrorStatus {
        case .lagging, .following: break
        default: Issue.record("the mirror of a store that takes nothing is \(store.mirrorStatus)")
        }
    }
}
