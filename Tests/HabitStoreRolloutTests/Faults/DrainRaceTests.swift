import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreTesting
import Testing

@_spi(Engines) @testable import HabitStoreRollout

/// While one process determines where the user is, another one keeps writing.
@Suite(.timeLimit(.minutes(10)))
struct DrainRaceTests {
    /// A process saw the old store one write ahead, because that write was in flight, and set out to apply it to the new store. When it got the lock,
    /// that write and another one were in both: the new store seemed to have a different history, and the app's writes failed as unsupported.
    @Test(arguments: [Stage.live, .rampdown])
    func aWriteInFlightIsNotTakenForAnotherHistory(stage: Stage) async throws {
        let user = try FaultyUser(at: stage)
        defer { user.heal() }
        let looking = try user.open { $0.stepLimitSeconds = 600 }
        let inFlight = FaultPlan()
        defer { inFlight.heal() }
        let writing = try Self.writer(user, inFlight)
        let ledger = Ledger()
        inFlight.inject(Fault(.hang, on: [.write], at: .beforeCommit, times: 1))
        let first = BegunWork { ledger.write(writing) }
        try await Self.require(inFlight)
        let plan = try user.plan(.new)
        plan.inject(Fault(.hang, on: [.replicate], times: 1))
        let route = BegunWork { try looking.opened().recheck() }
        try await Self.require(plan)
        inFlight.heal()
        _ = try await first.value()
        ledger.write(writing)
        plan.heal()
        let obstacle = try await route.value().actual.obstacle
        #expect(obstacle == nil, "\(obstacle?.description ?? "")")
        ledger.write(looking)
        #expect(ledger.outcomes == [.acknowledged, .acknowledged, .acknowledged])
        looking.close()
        writing.close()
        try user.expectRecovery(ledger)
    }

    /// A process read the old store, then a write reached both, so it found the new store one ahead. By the time it applied that, another write had
    /// reached the old store but not yet the new one, as every write does: now the old store seemed to have a different history.
    @Test(arguments: [Stage.live, .rampdown])
    func aWriteThatHasReachedOneOfBothIsNotTakenForAnotherHistory(stage: Stage) async throws {
        let user = try FaultyUser(at: stage)
        defer { user.heal() }
        let looking = try user.open { $0.stepLimitSeconds = 600 }
        let inFlight = FaultPlan()
        defer { inFlight.heal() }
        let writing = try Self.writer(user, inFlight)
        let ledger = Ledger()
        let plan = try user.plan(.new)
        plan.inject(Fault(.hang, on: [.replicaRead], times: 1))
        let route = BegunWork { try looking.opened().recheck() }
        try await Self.require(plan)
        ledger.write(writing)
        inFlight.inject(Fault(.hang, on: [.write], at: .beforeCommit, times: 1))
        let second = BegunWork { ledger.write(writing) }
        try await Self.require(inFlight)
        plan.heal()
        // Long enough to look at the old store too early.
        try await Task.sleep(for: .milliseconds(100))
        inFlight.heal()
        _ = try await second.value()
        let obstacle = try await route.value().actual.obstacle
        #expect(obstacle == nil, "\(obstacle?.description ?? "")")
        ledger.write(looking)
        #expect(ledger.outcomes == [.acknowledged, .acknowledged, .acknowledged])
        looking.close()
        writing.close()
        try user.expectRecovery(ledger)
    }

    /// The user's store in another process, where a plan injects faults into writes to the new engine.
    private static func writer(_ user: FaultyUser, _ plan: FaultPlan) throws -> UserStore {
        let engine = user.staged.old.otherStandard
        return try user.staged.stores { options in
            options.opener = { address, access, schema in
                guard address.engine == engine else { return try address.open(access, schema: schema) }
                return try FaultInjectingStore(plan) { try address.open(access, schema: schema) }
            }
        }.store(for: "alice")
    }

    /// Waits until a plan has struck once.
    private static func require(_ plan: FaultPlan) async throws {
        try await #require(BegunWork { plan.waitForStrikes(1, seconds: 300) }.value())
    }
}
