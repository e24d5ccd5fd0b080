import Foundation
import HabitStore
import ShadowVerifier
import Testing

@testable import HabitStoreRollout

extension FaultyUser {
    /// After all faults have gone and everybody has closed the stores: the user is served and written again, what the
    /// ledger was told is true, and the stores that this stage keeps equal are.
    func expectRecovery(_ ledger: Ledger, sourceLocation: SourceLocation = #_sourceLocation) throws {
        heal()
        let store = try open { $0.mirror.waitSeconds = 10 }
        #expect(ledger.writeAgainAndAgain(store) == .acknowledged, sourceLocation: sourceLocation)
        ledger.read(store)
        if let mirror = store.route.load()?.mirror {
            mirror.retry()
            #expect(
                mirror.settle(waitSeconds: 10),
                "the mirror is \(store.mirrorStatus)",
                sourceLocation: sourceLocation
            )
        }
        let reached = try store.stage()
        store.close()
        let here = try contents(reached.authority) { try ledger.expectWhole($0, "the \(reached.authority) store") }
        guard let side = reached.mirror else { return }
        let there = try contents(side) { try ledger.expectWhole($0, "the \(side) store") }
        #expect(here == there, sourceLocation: sourceLocation)
        let report = try contents(.old) { old in
            try contents(.new) { new in
                try ShadowVerifier(.init(name: "old", store: old), .init(name: "new", store: new)).run()
            }
        }
        #expect(report.verdict == .match, "\(report.differences)", sourceLocation: sourceLocation)
        #expect(report.a.information.token == report.b.information.token, sourceLocation: sourceLocation)
    }

    /// Runs what may hang; when it does, the faults are taken away after `seconds`, and it is waited for.
    ///
    /// - Returns: whether it came to its end by itself.
    func withinSeconds(_ seconds: Double, _ body: @escaping @Sendable () -> Void) async -> Bool {
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
