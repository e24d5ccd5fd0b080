import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import Synchronization

/// Makes stores fail, hang and run out of space at random stages of a rollout, during reads and writes, and compares the outcomes that callers got
/// with the final contents of both stores.
///
/// ```swift
/// let report = try await RolloutFaultTest(seed: seed).run(against: RolloutUnderTest(from: SQLiteProvider(), to: MyProvider()))
/// ```
public struct RolloutFaultTest: Sendable {
    /// A summary of the test.
    public struct Report: Sendable, Equatable, CustomStringConvertible {
        /// The seed.
        public var seed: UInt64
        /// How many faults were injected, each for a separate user.
        public var faults = 0
        /// During how many of them the kill switch was pulled.
        public var kills = 0

        /// The summary in one line.
        public var description: String { "seed \(seed): \(faults) faults, the kill switch pulled during \(kills)" }
    }

    /// A user got a false outcome, or was not served after the fault had ended.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The seed that reproduces it.
        public let seed: UInt64
        /// The stage, the store and the fault.
        public let fault: String
        /// The violations.
        public let reason: String

        /// The seed, the fault and the violations.
        public var description: String { "seed \(seed), \(fault):\n\(reason)" }
    }

    /// The seed that determines the faults.
    public let seed: UInt64
    /// The number of faults.
    public let faults: Int

    /// How many of them run at the same time: they mostly wait for what hangs.
    private static let width = 4

    /// Creates a test.
    public init(seed: UInt64, faults: Int = 60) {
        self.seed = seed
        self.faults = faults
    }

    /// The faults for the seed: a quarter of them with a kill.
    var cells: [FaultCell] {
        var random = SeededGenerator(seed: seed)
        return (0..<faults).map { _ in random.pick(random.chance(25) ? FaultCell.kills : FaultCell.table) }
    }

    /// Runs the test in temporary folders.
    ///
    /// - Throws: ``Failure`` with the seed for the first fault that was not handled correctly.
    public func run(against rollout: RolloutUnderTest) async throws -> Report {
        var report = Report(seed: seed)
        try await withThrowingTaskGroup(of: FaultCell.self) { group in
            for (number, cell) in cells.enumerated() {
                if number >= Self.width, let done = try await group.next() { report.count(done) }
                group.addTask {
                    do {
                        try await cell.verify(rollout)
                    } catch {
                        throw Failure(seed: seed, fault: "\(rollout) at \(cell)", reason: "\(error)")
                    }
                    return cell
                }
            }
            for try await done in group { report.count(done) }
        }
        return report
    }
}

extension RolloutFaultTest.Report {
    fileprivate mutating func count(_ cell: FaultCell) {
        faults += 1
        if cell.pullsKillSwitch { kills += 1 }
    }
}

/// A fault in one of a user's two stores at a stage, during reads and writes: callers get true results, nothing is lost or written twice, and once
/// the fault has ended, the user is served and both stores are equal again.
package struct FaultCell: Sendable, CustomStringConvertible {
    /// The user's stage.
    package let stage: Stage
    /// The store that fails.
    package let side: StoreSide
    /// The fault in that store.
    package let fault: Fault
    /// Whether the kill switch is pulled during the fault.
    package let pullsKillSwitch: Bool

    /// Creates a cell.
    package init(_ stage: Stage, _ side: StoreSide, _ fault: Fault, pullsKillSwitch: Bool = false) {
        (self.stage, self.side, self.fault, self.pullsKillSwitch) = (stage, side, fault, pullsKillSwitch)
    }

    /// The cell in one line.
    package var description: String {
        "\(stage.rawValue), \(side.rawValue) store: \(fault)\(pullsKillSwitch ? ", and the kill switch is pulled" : "")"
    }

    /// Each stage with each fault of either store, once and permanently.
    package static let table: [FaultCell] = {
        let kinds: [(Fault.Effect, Set<Fault.Operation>, Fault.Moment)] = [
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
        return Stage.allCases.flatMap { stage in
            StoreSide.allCases.flatMap { side in
                kinds.flatMap { effect, operations, moment in
                    [1, nil].map { FaultCell(stage, side, Fault(effect, on: operations, at: moment, times: $0)) }
                }
            }
        }
    }()

    /// Each stage with a new store that fails or hangs when the kill switch is pulled.
    package static let kills: [FaultCell] = {
        let faults = [
            Fault(.fail(.inputOutput), on: .all),
            Fault(.fail(.corrupt), on: .all),
            Fault(.fail(.permissionDenied), on: .all),
            Fault(.fail(.inputOutput), on: .reads),
            Fault(.fail(.limitExceeded), on: .reads),
            Fault(.fail(.full), on: .writes, at: .beforeCommit),
            Fault(.fail(.outcomeUnknown), on: .writes, at: .beforeCommit),
            Fault(.fail(.outcomeUnknown), on: .writes, at: .afterCommit),
            Fault(.hang, on: .all),
            Fault(.hang, on: .reads),
            Fault(.hang, on: .writes),
            Fault(.hang, on: .writes, at: .beforeCommit),
            Fault(.hang, on: .writes, at: .afterCommit),
        ]
        return Stage.allCases.flatMap { stage in
            faults.map { FaultCell(stage, .new, $0, pullsKillSwitch: true) }
        }
    }()

    /// Injects the fault for a user of two engines and checks the results.
    ///
    /// - Throws: ``HabitStoreTesting/ContractViolation`` with all violations.
    package func verify(_ rollout: RolloutUnderTest) async throws {
        let complaints = Complaints()
        do {
            try await run(try FaultyUser(at: stage, rollout), complaints)
        } catch {
            // Earlier violations say more than this error.
            complaints.add("\(error)")
        }
        try complaints.require()
    }

    private func run(_ user: FaultyUser, _ complaints: Complaints) async throws {
        defer { user.heal() }
        let ledger = Ledger(complaining: complaints.add)
        let store = try user.open()
        complaints.expect(ledger.write(store) == .acknowledged, "a write is taken before anything goes wrong")
        try user.plan(side).inject(fault)
        if !pullsKillSwitch {
            try await write(user, store, ledger, complaints)
        } else if stage == .complete {
            try await killFromTheEnd(user, store, ledger, complaints)
        } else {
            try await kill(user, store, ledger, complaints)
        }
        user.heal()
        // Writes after the fault check again whether the store works.
        complaints.expect(
            ledger.writeAgainAndAgain(store) == .acknowledged,
            "a write is taken when the fault has gone"
        )
        ledger.read(store)
        if pullsKillSwitch { complaints.expect(try store.stage() == .off, "the user is at off") }
        store.close()
        try user.expectRecovery(ledger)
    }
}

extension FaultCell {
    /// Reads and writes during the fault.
    private func write(
        _ user: FaultyUser,
        _ store: UserStore,
        _ ledger: Ledger,
        _ complaints: Complaints
    ) async throws {
        let sparesBoth = sparesWrites && sparesReads
        let isOver = await user.withinSeconds(sparesBoth ? 20 : 0.4) {
            for _ in 0..<3 {
                ledger.write(store)
                ledger.read(store)
            }
        }
        if isOver { expectTheTable(store, ledger, complaints) }
        if sparesBoth { complaints.expect(isOver, "reads and writes end") }
        guard isOver, fault.operations.contains(.open), fault.effect != .hang else { return }
        expectAnotherProcess(user, ledger, complaints)
    }

    /// A process that starts during the fault serves the user or reports why not, and does not need a store that only follows.
    private func expectAnotherProcess(_ user: FaultyUser, _ ledger: Ledger, _ complaints: Complaints) {
        do {
            let next = try user.open()
            ledger.read(next)
            next.close()
        } catch let error as HabitStoreError {
            let isNeeded = stage.authority == side || stage.authority == .new
            complaints.expect(isNeeded, "a process begins without the \(side.rawValue) store: \(error)")
        } catch {
            complaints.add("an opening failed without a type: \(error)")
        }
    }

    /// Whether writes at this stage need the store.
    private var isNeeded: Bool { stage.authority == side || (stage.awaitsMirror && stage.mirror == side) }

    /// Whether every write has to succeed.
    private var sparesWrites: Bool {
        guard isNeeded else { return true }
        let struck: Fault.Operation = stage.authority == side ? .write : .replicate
        if stage.awaitsMirror, stage.mirror == side, fault.operations.contains(.replicaRead) { return false }
        if !fault.operations.contains(struck) { return true }
        return fault.effect == .fail(.outcomeUnknown) && fault.moment == .afterCommit && fault.times == 1
    }

    /// Whether every read in a process with an open store has to succeed.
    private var sparesReads: Bool { stage.authority != side || !fault.operations.contains(.read) }

    /// Checks the promises of the stage's table row during the fault.
    private func expectTheTable(_ store: UserStore, _ ledger: Ledger, _ complaints: Complaints) {
        let outcomes = ledger.outcomes
        if sparesWrites {
            complaints.expect(outcomes.allSatisfy { $0 == .acknowledged }, "every write is taken: \(outcomes)")
        }
        if sparesReads { complaints.expect(ledger.readErrors.isEmpty, "every read is answered: \(ledger.readErrors)") }
        if stage.awaitsMirror {
            // Only the write whose commit failed: later ones are refused before they begin.
            complaints.expect(outcomes.count { $0 == .unknown } <= 1, "one outcome at most is unknown: \(outcomes)")
        }
        if fault.times == 1 {
            complaints.expect(outcomes.last == .acknowledged, "a fault that strikes once is over: \(outcomes)")
        }
        guard stage.authority == .old, side == .new else { return }
        // One write waits for the mirror in vain; later ones do not wait.
        complaints.expect(ledger.longestSeconds < 0.2 + 2, "no operation takes \(ledger.longestSeconds) s")
        guard stage.mirror == .new, fault.times == nil, fault.operations.contains(.replicate) else { return }
        switch store.mirrorStatus {
        case .lagging, .following: break
        default: complaints.add("the mirror of a store that takes nothing is \(store.mirrorStatus)")
        }
    }

    /// Checks that the kill switch works without the new store and switches to a store that has everything.
    private func kill(
        _ user: FaultyUser,
        _ store: UserStore,
        _ ledger: Ledger,
        _ complaints: Complaints
    ) async throws {
        try user.pullTheKillSwitch(store)
        let isOver = await user.withinSeconds(60) {
            ledger.read(store)
            ledger.write(store)
            ledger.read(store)
        }
        complaints.expect(isOver && ledger.readErrors.isEmpty, "every read is answered: \(ledger.readErrors)")
        complaints.expect(try store.stage() == .off, "the user is at off")
        complaints.expect(try store.engine() == user.staged.old, "the user is on the old engine")
        // The next process gets the same result, while the new store is still faulty.
        let isThere = await user.withinSeconds(60) {
            do {
                let next = try user.open()
                complaints.expect(try next.stage() == .off, "the user is at off for the next process")
                ledger.read(next)
                ledger.write(next)
            } catch {
                complaints.add("the next process is not served: \(error)")
            }
        }
        complaints.expect(isThere && ledger.readErrors.isEmpty, "every read is answered: \(ledger.readErrors)")
        let outcomes = ledger.outcomes
        complaints.expect(outcomes == [.acknowledged, .acknowledged, .acknowledged], "writes are taken: \(outcomes)")
    }

    /// At `complete`, the old store is out of date and must not be served. Either the new one can still be drained, or no caller is served a store
    /// without its records, and writes are refused with a reason.
    private func killFromTheEnd(
        _ user: FaultyUser,
        _ store: UserStore,
        _ ledger: Ledger,
        _ complaints: Complaints
    ) async throws {
        try user.pullTheKillSwitch(store)
        let isOver = await user.withinSeconds(10) {
            ledger.read(store)
            ledger.write(store)
            ledger.read(store)
        }
        guard isOver, !fault.operations.contains(.read) else { return }
        complaints.expect(ledger.readErrors.isEmpty, "every read is answered: \(ledger.readErrors)")
    }
}

/// Collects violations from any thread.
package final class Complaints: Sendable {
    private let all = Mutex<[String]>([])

    /// Creates an empty collection.
    package init() {}

    /// Adds a violation.
    package func add(_ complaint: String) { all.withLock { $0.append(complaint) } }

    /// Adds a violation unless the claim holds.
    package func expect(_ holds: Bool, _ claim: @autoclosure () -> String) {
        if !holds { add("expected that \(claim())") }
    }

    /// - Throws: ``HabitStoreTesting/ContractViolation`` with all violations, if there are any.
    package func require() throws {
        let all = all.withLock { $0 }
        guard all.isEmpty else { throw ContractViolation(all.joined(separator: "\n")) }
    }
}
