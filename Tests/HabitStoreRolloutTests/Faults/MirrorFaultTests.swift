import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// While the old store is authoritative, no fault of the new one fails a write or delays it for long.
@Suite(.timeLimit(.minutes(5)))
struct MirrorFaultTests {
    private static let stages: [Stage] = [.dualwrite, .shadow]

    private func wait(_ seconds: Double, until isTrue: () -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while !isTrue() {
            guard ContinuousClock.now < deadline else { return false }
            Thread.sleep(forTimeInterval: 0.005)
        }
        return true
    }

    @Test(arguments: stages, [HabitStoreError.Code.full, .inputOutput, .outcomeUnknown, .busy, .permissionDenied])
    func aMirrorThatFailsIsLaggingAndIsCaughtUp(stage: Stage, code: HabitStoreError.Code) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        let user = try FaultyUser(at: stage)
        let store = try user.open()
        let ledger = Ledger()
        ledger.write(store)
        _ = store.files.leases.load()?.mirror?.waitUntilIdle(waitSeconds: 60)
        let token = try await store.currentToken()
        let plan = try user.plan(.new)
        plan.inject(Fault(.fail(code), on: [.replicate], at: .beforeCommit))
        for _ in 0..<5 { #expect(ledger.write(store) == .acknowledged) }
        let isLagging = wait(60) {
            guard case .lagging(since: token, let error) = store.mirrorStatus else { return false }
            return error.code == code
        }
        #expect(isLagging, "\(store.mirrorStatus)")
        // The mirror retries until it succeeds.
        let strikes = plan.strikes
        #expect(plan.waitForStrikes(strikes + 2, seconds: 60))
        plan.heal()
        let isCurrent = wait(60) {
            if case .current(let reached) = store.mirrorStatus { reached.rawValue == token.rawValue + 5 } else { false }
        }
        #expect(isCurrent, "\(store.mirrorStatus)")
        store.close()
        try user.expectRecovery(ledger)
    }

    @Test(arguments: stages, [Fault.Moment.beginning, .beforeCommit, .afterCommit])
    func aMirrorThatHangsCostsOneWriteTheStatedWait(stage: Stage, moment: Fault.Moment) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        let user = try FaultyUser(at: stage)
        defer { user.heal() }
        let store = try user.open()
        let ledger = Ledger()
        ledger.write(store)
        _ = store.files.leases.load()?.mirror?.waitUntilIdle(waitSeconds: 60)
        try user.plan(.new).inject(Fault(.hang, on: .writes, at: moment))
        let first = ContinuousClock().measure { #expect(ledger.write(store) == .acknowledged) }
        #expect(first >= .milliseconds(200))
        #expect(first < .seconds(20))
        // Twenty more would take four seconds if each waited.
        let others = ContinuousClock().measure {
            for _ in 0..<20 { #expect(ledger.write(store) == .acknowledged) }
        }
        #expect(others < .seconds(4))
        #expect(try user.plan(.new).hanging == 1)
        // Closing does not wait for it either; the next process catches the mirror up.
        #expect(await user.withinSeconds(60) { store.close() })
        try user.expectRecovery(ledger)
    }

    /// A commit failed, and before its writer could say so another write got the same token: the mirror then took the failed write for the
    /// committed one, and the stores differed ever after.
    @Test(arguments: stages) func aWriteThatFailedIsNotConfirmedByTheNextOne(stage: Stage) throws {
        let user = try FaultyUser(at: stage)
        let store = try user.open { $0.mirror.preparedWaitSeconds = 60 }
        let ledger = Ledger()
        ledger.write(store)
        let route = try #require(store.files.leases.load())
        let mirror = try #require(route.mirror)
        #expect(mirror.waitUntilIdle(waitSeconds: 60))
        struct Failed: Error {}
        var number: Int?
        let terms = WriteTerms(
            epoch: route.actual.epoch,
            willCommit: { replica, transaction in
                number = try mirror.prepare(try #require(transaction), in: replica, epoch: route.actual.epoch)
                throw Failed()
            }
        )
        #expect(throws: Failed.self) {
            try route.authority.write(author: "failed", under: terms) { try $0.save(Habit(name: "failed")) }
        }
        let failed = try #require(number)
        #expect(ledger.write(store) == .acknowledged)
        // As an opening or a look of another thread asks for it.
        mirror.follow(to: try store.read { try $0.currentToken() }, waitSeconds: 0)
        mirror.forget(failed)
        #expect(mirror.waitUntilIdle(waitSeconds: 60))
        store.close()
        try user.expectRecovery(ledger)
    }

    /// As long as the mirror applied each write while it was committed, it kept all of its history, whatever the app pruned.
    @Test(arguments: stages) func aMirrorPrunesItsHistoryWithTheNextSmallWrite(stage: Stage) throws {
        let user = try FaultyUser(at: stage)
        let store = try user.open()
        let ledger = Ledger()
        for _ in 0..<5 { ledger.write(store) }
        let route = try #require(store.files.leases.load())
        let mirror = try #require(route.mirror)
        #expect(mirror.waitUntilIdle(waitSeconds: 60))
        try store.pruneHistory(through: mirror.applied)
        let floor = try route.authority.replicaRead { try $0.position().historyFloor }
        #expect(floor > .zero)
        #expect(mirror.waitUntilIdle(waitSeconds: 60))
        ledger.write(store)
        #expect(mirror.waitUntilIdle(waitSeconds: 60))
        store.close()
        #expect(try user.contents(.new) { try $0.information().historyFloor } == floor)
    }

    /// A retry that was asked for waited for the end of the pause after the last failure, up to half a minute.
    @Test func aRetryDoesNotWaitForThePauseToEnd() throws {
        let user = try FaultyUser(at: .shadow)
        let store = try user.open { options in
            options.mirror.retrySeconds = 3_600
            options.mirror.longestRetrySeconds = 3_600
        }
        let ledger = Ledger()
        ledger.write(store)
        let mirror = try #require(store.files.leases.load()?.mirror)
        #expect(mirror.waitUntilIdle(waitSeconds: 60))
        let plan = try user.plan(.new)
        plan.inject(Fault(.fail(.full), on: [.replicate], at: .beforeCommit))
        #expect(ledger.write(store) == .acknowledged)
        #expect(wait(60) { if case .lagging = store.mirrorStatus { true } else { false } })
        plan.heal()
        mirror.retry()
        #expect(mirror.waitUntilIdle(waitSeconds: 60))
        #expect(mirror.applied == (try store.read { try $0.currentToken() }))
        store.close()
        try user.expectRecovery(ledger)
    }

    /// The process that holds the copy lock is frozen, or makes no progress. The mirror waits while the copy progresses, and then retries.
    @Test func aMirrorIsLaggingWhileAProcessThatDoesNotGoOnHasTheTurnToCopy() throws {
        let user = try StagedUser()
        try user.want("dualwrite")
        let store = try user.stores { $0.stepLimitSeconds = 0.3 }.store(for: "alice")
        defer { store.close() }
        try store.save(Draft(content: "one"))
        let copy = OtherCopy(user)
        #expect(try store.promote(to: .dualwrite).isOpen)
        let isLagging = wait(60) {
            guard case .lagging(_, let error) = store.mirrorStatus else { return false }
            return error.code == .busy && error.message.contains("turn to copy")
        }
        #expect(isLagging, "\(store.mirrorStatus)")
        try store.save(Draft(content: "two"))
        copy.goOn()
        copy.goOn()
        let isCurrent = wait(60) { if case .current = store.mirrorStatus { true } else { false } }
        #expect(isCurrent, "\(store.mirrorStatus)")
        #expect(try user.withStore(.new) { try $0.all(Draft.self).count } == 2)
    }

    @Test func closingDoesNotWaitForACopyThatAnotherProcessMakes() throws {
        let user = try StagedUser()
        try user.want("dualwrite")
        let store = try user.stores { $0.mirror.closingWaitSeconds = 60 }.store(for: "alice")
        try store.save(Draft(content: "one"))
        let copy = OtherCopy(user)
        #expect(try store.promote(to: .dualwrite).isOpen)
        let isCopying = wait(60) { if case .copying = store.mirrorStatus { true } else { false } }
        #expect(isCopying, "\(store.mirrorStatus)")
        let closing = ContinuousClock().measure { store.close() }
        #expect(closing < .seconds(30))
        copy.goOn()
        copy.goOn()
        #expect(try copy.result()?.kind == .copied)
    }

    /// The user's app was started while the new store did not respond at all.
    @Test(arguments: [Stage.off] + stages, [Fault.Effect.hang, .fail(.permissionDenied), .fail(.corrupt)])
    func aProcessStartsAndServesWithoutTheNewStore(stage: Stage, effect: Fault.Effect) async throws {
        await CellLimit.shared.enter()
        defer { CellLimit.shared.leave() }
        let user = try FaultyUser(at: stage)
        defer { user.heal() }
        try user.plan(.new).inject(Fault(effect, on: .all))
        let ledger = Ledger()
        let isOver = await user.withinSeconds(60) {
            do {
                let store = try user.open()
                for _ in 0..<3 {
                    ledger.write(store)
                    ledger.read(store)
                }
                #expect(try store.stage() == stage)
                store.close()
            } catch {
                Issue.record("the user is not served: \(error)")
            }
        }
        #expect(isOver && ledger.readErrors.isEmpty, "\(ledger.readErrors)")
        #expect(ledger.outcomes == [.acknowledged, .acknowledged, .acknowledged])
        #expect(ledger.longestSeconds < 0.2 + 2)
        try user.expectRecovery(ledger)
    }
}
