import Foundation
import HabitStoreFleet
import HabitStoreMetrics
import Synchronization

/// A fleet's metrics in Prometheus' text format, read at most once a second for all requests.
final class MetricsKeeper: Sendable {
    private struct State {
        var text: Result<String, any Error>?
        var read = ContinuousClock.now
    }

    private let fleet: Fleet
    private let state = Mutex(State())
    // Reading blocks on the disk, which a Swift task must not do.
    private let queue = DispatchQueue(label: "habitstore.metrics")

    init(fleet: Fleet) { self.fleet = fleet }

    private static let readSeconds = 1.0

    /// The metrics, less than a second old.
    ///
    /// - Throws: an error if the fleet cannot be read.
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
