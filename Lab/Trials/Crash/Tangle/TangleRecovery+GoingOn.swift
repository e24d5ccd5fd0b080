import Foundation
import HabitStore
import HabitStoreRollout

extension TangleRecovery {
    /// Brings the user to a stage with two equal stores.
    func converge(_ user: SweptUser, _ outcome: inout Outcome) throws {
        try user.rearm()
        var missing: String?
        for _ in 0..<Self.tries {
            do {
                switch try user.store.stage() {
                case .off: missing = try user.goForward()
                // The flags may have moved the user to `complete`: the way back from there is one step with a copy.
                case .complete: try user.goBack()
                default: return
                }
            } catch let error as HabitStoreError where [.notAuthoritative, .busy, .unsupported].contains(error.code) {
                // The flags may move the user in between: going back may no longer be possible from the new stage.
                missing = "\(error)"
            }
            guard let reason = missing, reason.contains("the evidence") else { continue }
            // A failed reset has to be repeated.
            let mayBe = isTampered || reports.contains(where: \.hasUnfinishedReset)
            if !mayBe { outcome.violations.append("the evidence keeps the gate closed: \(reason)") }
            // The flags may move the user in between; the next try finds out.
            _ = try? user.store.resetEvidence(because: "it was put back", by: "the sweep")
        }
        let stage = try user.store.stage()
        if stage == .off || stage == .complete {
            outcome.violations.append("the user cannot leave \(stage.rawValue): \(missing ?? "no reason given")")
        }
    }

    /// Both stores have the same token and the same records once the mirror has caught up.
    func compare(_ user: SweptUser, _ outcome: inout Outcome) throws {
        let deadline = Date(timeIntervalSinceNow: Self.comparingSeconds)
        while true {
            let text: String
            do {
                let found = try user.store.verify()
                if found.verdict == .match, found.a.information.token == found.b.information.token {
                    outcome.violations += found.anomalies.map { "a check found \($0.count) of \($0.kind)" }
                    return
                }
                let first = found.differences.first?.message ?? found.reason ?? ""
                let tokens = "\(found.a.information.token) and \(found.b.information.token)"
                text = "\(found.verdict.rawValue), tokens \(tokens), \(first)"
            } catch {
                // An unfinished copy cannot be compared until the mirror has continued it.
                text = "\(error)"
            }
            guard Date() < deadline else {
                outcome.violations.append(
                    "the stores at \(try user.store.stage().rawValue) differ: \(text), mirror \(user.store.mirrorStatus)"
                )
                return
            }
            Thread.sleep(forTimeInterval: 0.1)
        }
    }
}
