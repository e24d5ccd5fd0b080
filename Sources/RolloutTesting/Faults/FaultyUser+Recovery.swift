import Foundation
import HabitStore
import HabitStoreRollout
import ShadowVerifier

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
        if !store.settleMirror(waitSeconds: 60) {
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
