import Foundation
import HabitStore
import HabitStoreRollout
import ShadowVerifier

extension FaultyUser {
    /// After all faults have gone and everybody has closed the stores: the user is served and written again, what the
    /// ledger was told is true, and the stores that this stage keeps equal are. The ledger complains of what is not so.
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

    /// Runs what may hang; when it does, the faults are taken away after `seconds`, and it is waited for.
    ///
    /// - Returns: whether it came to its end by itself.
    package func withinSeconds(_ seconds: Double, _ body: @escaping @Sendable () -> Void) async -> Bool {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            body()
            done.signal()
        }
        return await withCheckedContinuation { continuation in
            // On a thread of its own: other cells go on meanwhile.
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
