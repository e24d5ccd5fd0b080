import Foundation
import HabitStore

extension Comparison {
    /// As good as none: thirty years.
    private static var longestLimitSeconds: Double { 1e9 }

    /// The time limit of the comparison has come.
    private struct TimeLimitReached: Error {}

    /// Compares, and draws the verdict also where an error or the time limit ends the comparison.
    mutating func runToVerdict(_ progress: (ShadowVerifier.Progress) throws -> Void) throws {
        // A clock has an end, which a limit may exceed.
        let deadline = options.timeLimitSeconds.map { limit in
            ContinuousClock.now + .seconds(limit > 0 ? min(limit, Self.longestLimitSeconds) : 0)
        }
        do {
            try run { state in
                if let deadline, ContinuousClock.now >= deadline { throw TimeLimitReached() }
                try progress(state)
            }
        } catch is TimeLimitReached {
            let limit = options.timeLimitSeconds ?? 0
            report.conclude(cutShort: .timedOut, at: level, reason: "the time limit of \(limit) s was reached")
        } catch let error as HabitStoreError where options.reportsErrors {
            report.failure = VerificationReport.Failure(error)
            report.conclude(cutShort: .error, at: level, reason: error.description)
        }
        if let recorder = options.recorder { record(with: recorder) }
    }
}
