import Foundation
import HabitStore
import HabitTracker
import StandardEngines
import Synchronization
import Testing

@testable import HabitStoreRollout

/// A frozen process in the middle of a write holds the store's write lock. At `off`, `shadow` and `complete` no kill could take effect then. Now the
/// kill passes the epoch without the lock, and the frozen process notices before it acknowledges anything.
struct FrozenWriterTests {
    /// A write that sleeps inside its transaction until it is woken.
    private final class Sleeper: Sendable {
        private let asleep = DispatchSemaphore(value: 0)
        private let woken = DispatchSemaphore(value: 0)
        private let ended = DispatchSemaphore(value: 0)
        private let outcome = Mutex<Result<Void, any Error>?>(nil)

        init(_ store: UserStore, _ content: String) {
            let work: @Sendable () -> Void = { [self] in
                let result = Result {
                    try store.write(author: nil) { transaction in
                        try transaction.insert(Draft(content: content))
                        asleep.signal()
                        woken.wait()
                    }
                }
                outcome.withLock { $0 = result }
                ended.signal()
            }
            Thread.detachNewThread(work)
            asleep.wait()
        }

        /// Wakes the write, waits for its end, and throws its error.
        func wake() throws {
            woken.signal()
            ended.wait()
            try outcome.withLock { $0 }?.get()
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let stage: Stage
        let old: EngineName

        var testDescription: String { "\(stage), from \(old)" }
    }

    static let cases = EngineName.standard.flatMap { old in Stage.allCases.map { Case(stage: $0, old: old) } }

    /// The writer and the killer are two handles with separate stores and switch locks, as in two processes.
    @Test(arguments: cases)
    func aKillLandsWhileAWriterSleepsAndNothingAcknowledgedIsLost(each: Case) throws {
        let user = try StagedUser(old: each.old)
        func stores() throws -> UserStores {
            try user.stores { options in
                options.stepLimitSeconds = 0.5
                options.lockWaitSeconds = 2
            }
        }
        let writer = try stores().store(for: "alice")
        defer { writer.close() }
        try writer.save(Draft(content: "before"))
        try user.bring(writer, to: each.stage) { _ = try $0.all(Draft.self) }
        let sleeper = Sleeper(writer, "asleep")
        try user.want(each.stage.rawValue, kill: true)
        let killer = try stores().store(for: "alice")
        defer { killer.close() }
        #expect(try killer.applyKill())
        #expect(try killer.stage() == .off)
        #expect(try killer.engine() == each.old)
        #expect(try killer.all(Draft.self).map(\.content) == ["before"])
        if each.stage.authority == .new { try killer.save(Draft(content: "after the kill")) }
        writer.files.context.flags.provider.reload()
        var acknowledged = ["before"] + (each.stage.authority == .new ? ["after the kill"] : [])
        do {
            try sleeper.wake()
            acknowledged.append("asleep")
        } catch let error as HabitStoreError {
            #expect([.notAuthoritative, .outcomeUnknown].contains(error.code), "\(error)")
            #expect(
                each.stage.authority == .new,
                "the store that the user was on all the time refused a write: \(error) \(String(describing: error.underlying))"
            )
        }
        try writer.save(Draft(content: "awake"))
        acknowledged.append("awake")
        for store in [writer, killer] {
            #expect(try store.stage() == .off)
            #expect(try store.all(Draft.self).map(\.content).sorted() == acknowledged.sorted())
        }
        // Whatever was remembered outside the store is in it by now, and a re-arm lets the user advance again.
        try user.want(each.stage.rawValue)
        killer.files.context.flags.provider.reload()
        #expect(try killer.stage() == .off)
        #expect(try killer.rearm(by: "a test"))
        #expect(try killer.stage() == .off)
    }

    /// A process frozen in the middle of a move holds the switch lock: a kill waited for it in vain.
    @Test(arguments: EngineName.standard)
    func aKillPassesByALockThatNobodyLetsGoOf(old: EngineName) throws {
        let user = try StagedUser(old: old)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Draft(content: "one"))
        try user.bring(store, to: .live) { _ = try $0.all(Draft.self) }
        let lock = try FileLock(path: user.directory.path + "/switch.lock", timeoutSeconds: 1)
        defer { withExtendedLifetime(lock) {} }
        try user.want("live", kill: true)
        let killer = try user.stores { $0.stepLimitSeconds = 0.3 }.store(for: "alice")
        defer { killer.close() }
        #expect(try killer.applyKill())
        #expect(try killer.engine() == old)
        #expect(try killer.all(Draft.self).map(\.content) == ["one"])
    }
}
