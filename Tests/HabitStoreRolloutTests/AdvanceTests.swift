import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// `advance` waits, or provides what is missing, instead of giving up while nothing is wrong.
struct AdvanceTests {
    private func user(at stage: Stage) throws -> StagedUser {
        try StagedUser(at: stage) { store in
            for name in 0..<20 { try store.save(Habit(name: "habit \(name)")) }
        }
    }

    /// A copy that took longer than the step limit of five seconds ended the advance with "not filled", and operators had to repeat the command.
    @Test func aCopyThatTakesLongerThanAStepIsWaitedFor() throws {
        let user = try user(at: .off)
        try user.want("shadow")
        let stores = try user.stores { options in
            options.stepLimitSeconds = 0.05
            options.mirror.copyChunk = 2
            options.mirror.copyPauseSeconds = 0.05
        }
        let store = try stores.store(for: "alice")
        defer { store.close() }
        var told: [String] = []
        let decision = try store.advance(waitSeconds: 30) { label, _, _ in told.append(label) }
        #expect(decision?.isOpen == true)
        #expect(try store.stage() == .shadow)
        #expect(told.contains("copying"))
    }

    /// While another process, such as an app, was copying, an advance ended immediately with "not filled": this process's mirror took the busy copy
    /// lock for a failure, and a failed mirror is not waited for. The other process fills the same mirror, so the advance waits for it.
    @Test func aCopyThatAnotherProcessMakesIsWaitedFor() throws {
        let user = try user(at: .off)
        try user.want("shadow")
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        let copy = OtherCopy(user)
        let promotion = try store.promote(to: .dualwrite)
        copy.goOn()
        var told: [String] = []
        let decision = try store.advance(waitSeconds: 30) { label, done, total in
            told.append("\(label) \(done) of \(total)")
            if told.count == 1 { copy.goOn() }
        }
        if told.isEmpty { copy.goOn() }
        #expect(promotion.isOpen)
        #expect(try copy.result()?.kind == .copied)
        #expect(told.first == "copying 5 of 20")
        #expect(decision?.reasons == [])
        #expect(try store.stage() == .shadow)
    }

    /// A verification that finds no moment without writes compares nothing, which is not a finding, but it kept the gate closed until someone
    /// verified by hand.
    @Test func aVerificationThatComparedNothingIsMadeAgain() throws {
        let user = try user(at: .shadow)
        try user.want("live")
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        let epoch = try #require(store.files.leases.load()).actual.epoch
        try store.opened().record(
            [
                .verified(
                    token: .zero,
                    epoch: epoch,
                    verdict: "skewed",
                    coverage: 0,
                    differences: 0,
                    anomalies: 0,
                    ignoredRules: 0
                ),
                .shadowReads(stage: .shadow, clean: 5, different: 0, skewed: 0, failed: 0, shed: 0, epoch: epoch),
            ]
        )
        let decision = try store.advance()
        #expect(decision?.reasons == [])
        #expect(try store.stage() == .live)
    }

    /// The gate counted another process's write as lag before the mirror had applied it, and refused.
    @Test func aWriteThatWasNotCarriedOverYetIsNoLag() throws {
        let user = try user(at: .dualwrite)
        try user.want("shadow")
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        let epoch = try #require(store.files.leases.load()).actual.epoch
        // As a process that is killed between its commit and its mirror leaves it.
        let other = try user.address(.old).open(.readWrite, schema: HabitSchema.current)
        try other.write(author: nil, under: WriteTerms(epoch: epoch, willCommit: { _, _ in })) {
            try $0.save(Habit(name: "Swim"))
        }
        other.close()
        let reasons = try store.promote().reasons
        #expect(reasons == [])
        #expect(try store.stage() == .shadow)
    }
}
