import Foundation
import HabitStore
import Synchronization

/// The outcomes of the writes to one store.
final class FailoverLedger: Sendable {
    /// The outcome that a writer saw.
    enum Outcome: Sendable {
        case acknowledged, failed, unknown
    }

    /// A write. Its author names it in the history.
    struct Write: Sendable {
        let author: String
        let thread: Int
        let number: Int
        let outcome: Outcome
        /// How often its closure ran.
        let runs: Int
        let began: ContinuousClock.Instant
        let ended: ContinuousClock.Instant
    }

    private let noted = Mutex<[Write]>([])

    var writes: [Write] { noted.withLock { $0 } }

    func note(_ write: Write) { noted.withLock { $0.append(write) } }

    /// Whether a write that began after an instant was acknowledged.
    func hasAcknowledged(since instant: ContinuousClock.Instant) -> Bool {
        noted.withLock { $0.contains { $0.outcome == .acknowledged && $0.began > instant } }
    }
}
