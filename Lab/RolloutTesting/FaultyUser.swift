import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreRollout
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import ShadowVerifier
import Synchronization

/// A user at a stage whose stores fail and hang on request.
package struct FaultyUser: Sendable {
    package let staged: StagedUser
    /// The user's stage.
    package let stage: Stage
    private let plans: [EngineName: FaultPlan]

    /// Brings a user to a stage, without faults.
    package init(at stage: Stage, _ rollout: RolloutUnderTest) throws {
        self.stage = stage
        staged = try rollout.user(at: stage)
        plans = Dictionary(uniqueKeysWithValues: staged.engines.names.map { ($0, FaultPlan()) })
    }

    /// The faults of a store.
    package func plan(_ side: StoreSide) throws -> FaultPlan {
        try require(plans[side == .old ? staged.old : staged.new], "the plan of the \(side.rawValue) store")
    }

    /// Ends all faults.
    package func heal() { for plan in plans.values { plan.heal() } }

    /// Opens the user's store as another process would, with the faults injected.
    package func open(_ change: (inout RolloutOptions) -> Void = { _ in }) throws -> UserStore {
        try staged.stores { options in
            options.mirror.waitSeconds = 0.2
            options.mirror.retrySeconds = 0.01
            options.mirror.longestRetrySeconds = 0.05
            options.mirror.closingWaitSeconds = 0.2
            options.stepLimitSeconds = 1
            options.opener = { [plans, engines = staged.engines] address, access, schema in
                // The copies of a rehearsal or a self-comparison are not the user's stores.
                let isCopy = ["rehearsal-", "self-comparison-"].contains { address.path.contains($0) }
                guard let plan = plans[address.engine], !isCopy else {
                    return try engines.open(address, access, schema: schema)
                }
                return try FaultInjectingStore(plan, path: address.path) {
                    try engines.open(address, access, schema: schema)
                }
            }
            change(&options)
        }.store(for: "alice")
    }

    /// Pulls the kill switch for all users, in one process.
    package func pullTheKillSwitch(_ store: UserStore) throws {
        try staged.want(stage.rawValue, kill: true)
        store.reloadFlags()
    }

    /// Opens one of the stores without faults, once all others have closed it.
    package func contents<R>(_ side: StoreSide, _ body: (any UserStoreBackend) throws -> R) throws -> R {
        try staged.withStore(side, .readOnly, body)
    }
}

extension FaultyUser {
    /// Checks the user after all faults have ended and all processes have closed the stores: the user can read and write again, the ledger's outcomes
    /// are true, and the stores are equal if the stage keeps them equal. Violations go to the ledger.
    package func expectRecovery(_ ledger: Ledger) throws {
        heal()
        let store = try open { $0.mirror.waitSeconds = 10 }
        if ledger.writeAgainAndAgain(store) != .acknowledged {
            ledger.complain("the fault has gone, and no write is taken: \(ledger.outcomes.suffix(3))")
        }
        ledger.read(store)
        if !store.waitUntilMirrorIsIdle(waitSeconds: 60) {
            ledger.complain("the fault has gone, and the mirror is \(store.mirrorStatus)")
        }
        let reached = try store.stage()
        store.close()
        let here = try contents(reached.authority) { try ledger.expectWhole($0, "the \(reached.authority) store") }
        guard let side = reached.mirror else { return }
        let there = try contents(side) { try ledger.expectWhole($0, "the \(side) store") }
        if here != there { ledger.complain("\(here.symmetricDifference(there).count) writes are in one store only") }
        let report = try contents(.old) { old in
            try contents(.new) { new in
                try ShadowVerifier(.init(name: "old", store: old), .init(name: "new", store: new)).run()
            }
        }
        if report.verdict != .match { ledger.complain("the stores differ: \(report.differences)") }
        let tokens = (report.a.information.token, report.b.information.token)
        if tokens.0 != tokens.1 { ledger.complain("the stores are at the tokens \(tokens.0) and \(tokens.1)") }
    }

    /// Runs a body that may hang; after `seconds`, ends all faults and waits for it.
    ///
    /// - Returns: whether it finished without that.
    package func withinSeconds(_ seconds: Double, _ body: @escaping @Sendable () -> Void) async -> Bool {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            body()
            done.signal()
        }
        return await withCheckedContinuation { continuation in
            // A separate thread, so that other cells continue.
            Thread.detachNewThread {
                let isOver = done.wait(timeout: .now() + seconds) == .success
                if !isOver {
                    heal()
                    done.wait()
                }
                continuation.resume(returning: isOver)
            }
        }
    }
}

/// The outcomes of writes that a caller was given, and a check that they are true.
package final class Ledger: Sendable {
    /// The outcome of a write as the caller knows it.
    package enum Outcome: Sendable, Equatable {
        /// The write was acknowledged.
        case acknowledged
        /// The write failed and left nothing.
        case absent(HabitStoreError.Code)
        /// The write failed, and it is unknown whether it was committed.
        case unknown
    }

    private struct State {
        var writes: [(id: UUID, outcome: Outcome)] = []
        var readErrors: [HabitStoreError] = []
        var reads = 0
        var longestSeconds = 0.0
    }

    private let state = Mutex(State())
    /// Receives each difference between an outcome and the truth.
    let complain: @Sendable (String) -> Void

    /// Creates an empty ledger.
    ///
    /// - Parameter complain: receives each difference between an outcome and the truth.
    package init(complaining complain: @escaping @Sendable (String) -> Void) { self.complain = complain }

    /// The outcomes of the writes, in the order in which they ended.
    package var outcomes: [Outcome] { state.withLock { $0.writes.map(\.outcome) } }
    /// The errors of reads.
    package var readErrors: [HabitStoreError] { state.withLock { $0.readErrors } }
    /// How many reads succeeded.
    package var reads: Int { state.withLock { $0.reads } }
    /// The longest duration of an operation.
    package var longestSeconds: Double { state.withLock { $0.longestSeconds } }

    /// Writes a new record.
    @discardableResult
    package func write(_ store: UserStore) -> Outcome {
        let draft = Draft(content: "draft", creationDate: Date(timeIntervalSinceReferenceDate: 700_000_000))
        let begin = ContinuousClock.now
        let outcome: Outcome
        do {
            try store.write(author: "ledger") { try $0.insert(draft) }
            outcome = .acknowledged
        } catch let error as HabitStoreError {
            outcome = error.code == .outcomeUnknown ? .unknown : .absent(error.code)
        } catch {
            complain("a write failed without a type: \(error)")
            outcome = .unknown
        }
        note(draft.id, outcome, begin)
        return outcome
    }

    /// Writes until a write is acknowledged: a step of a move that hung and was abandoned may still interfere once.
    @discardableResult
    package func writeAgainAndAgain(_ store: UserStore) -> Outcome {
        var outcome = write(store)
        for _ in 0..<10 where outcome != .acknowledged {
            Thread.sleep(forTimeInterval: 0.01)
            outcome = write(store)
        }
        return outcome
    }

    /// Records a write that was made elsewhere.
    package func note(_ id: UUID, _ outcome: Outcome, _ begin: ContinuousClock.Instant = .now) {
        state.withLock { state in
            state.writes.append((id, outcome))
            state.longestSeconds = max(state.longestSeconds, (ContinuousClock.now - begin) / .seconds(1))
        }
    }

    /// Reads everything; the result has to contain what was acknowledged before.
    package func read(_ store: UserStore) {
        let before = state.withLock { $0.writes }
        let begin = ContinuousClock.now
        do {
            let found = Set(try store.all(Draft.self).map(\.id))
            state.withLock { $0.reads += 1 }
            expect(found, before, "a read")
        } catch let error as HabitStoreError {
            state.withLock { $0.readErrors.append(error) }
        } catch {
            complain("a read failed without a type: \(error)")
        }
        state.withLock { $0.longestSeconds = max($0.longestSeconds, (ContinuousClock.now - begin) / .seconds(1)) }
    }

    private func expect(_ found: Set<UUID>, _ writes: [(id: UUID, outcome: Outcome)], _ place: String) {
        for (number, write) in writes.enumerated() {
            switch write.outcome {
            case .acknowledged:
                if !found.contains(write.id) { complain("acknowledged write \(number) is missing in \(place)") }
            case .absent(let code):
                if found.contains(write.id) { complain("write \(number) failed with \(code) and is in \(place)") }
            case .unknown: break
            }
        }
    }

    /// Checks a store that has to contain everything: each acknowledged write once, in records and history, and none whose outcome was `absent`.
    ///
    /// - Returns: the writes that it contains.
    @discardableResult
    package func expectWhole(_ store: any UserStoreBackend, _ place: String) throws -> Set<UUID> {
        let all = state.withLock { $0.writes }
        let found = Set(
            try store.replicaRead { replica in
                var ids: [UUID] = []
                try replica.enumerate(entity: try store.schema.position(ofEntity: "Draft"), after: nil) { id, _ in
                    ids.append(id)
                    return true
                }
                return ids
            }
        )
        expect(found, all, place)
        var written: [UUID: Int] = [:]
        try store.replicaRead { replica in
            try replica.enumerateHistory(after: try replica.information().historyFloor) { transaction in
                for change in transaction.changes where change.entity == "Draft" { written[change.id, default: 0] += 1 }
                return true
            }
        }
        for write in all where found.contains(write.id) {
            let times = written[write.id] ?? 0
            if times != 1 { complain("a write is in the history of \(place) \(times) times") }
        }
        return found.intersection(all.map(\.id))
    }
}
