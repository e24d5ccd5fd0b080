import Foundation
import HabitStore
import Synchronization

/// What writers of one store were told.
final class FailoverLedger: Sendable {
    /// What a writer was told of one write.
    enum Outcome: Sendable {
        case acknowledged, failed, unknown
    }

    /// One write. The history names it by its author.
    struct Write: Sendable {
        let author: String
        let thread: Int
        let number: Int
        let outcome: Outcome
        /// How often its closure was run.
        let runs: Int
        let began: ContinuousClock.Instant
        let ended: ContinuousClock.Instant
    }

    private let noted = Mutex<[Write]>([])

    var writes: [Write] { noted.withLock { $0 } }

    func note(_ write: Write) { noted.withLock { $0.append(write) } }

    /// Whether a write was acknowledged that began after an instant.
    func hasAcknowledged(since instant: ContinuousClock.Instant) -> Bool {
        noted.withLock { $0.contains { $0.outcome == .acknowledged && $0.began > instant } }
    }
}
