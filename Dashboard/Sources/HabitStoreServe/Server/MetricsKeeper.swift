import Foundation
import HabitStoreFleet
import HabitStoreMetrics
import Synchronization

/// A fleet's figures in Prometheus' text format, read once for all who ask in the same second.
final class MetricsKeeper: Sendable {
    private struct State {
        var text: Result<String, any Error>?
        var read = ContinuousClock.now
    }

    private let fleet: Fleet
    private let state = Mutex(State())
    // Reading waits for the disk, which no thread of Swift's tasks is for.
    private let queue = DispatchQueue(label: "habitstore.metrics")

    init(fleet: Fleet) { self.fleet = fleet }

    private static let readSeconds = 1.0

    /// The figures as they are now, or were less than a second ago.
    ///
    /// - Throws: what keeps the fleet from being read.
    func current() async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: self.look()) }
        }
    }

    private func look() -> Result<String, any Error> {
        state.withLock { state in
            if let text = state.text, ContinuousClock.now - state.read < .seconds(Self.readSeconds) { return text }
            let text = Result { PrometheusMetrics().text(adding: try fleet.metrics()) }
            state = State(text: text, read: .now)
            return text
        }
    }
}
