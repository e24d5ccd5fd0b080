import Dispatch
import Synchronization

/// Enforces the time limit of a comparison, even if the comparing thread hangs in a store.
final class ComparisonWatch: Sendable {
    private struct State {
        /// The deadline of the present comparison; nil if there is none, or its timeout was already reported.
        var deadline: ContinuousClock.Instant?
        /// The number of questions in it.
        var count = 0
        var isArmed = false
    }

    private let limitSeconds: Double
    private let onTimeout: @Sendable (Int) -> Void
    private let state = Mutex(State())
    private let late = Atomic<Bool>(false)

    /// - Parameter onTimeout: receives the number of questions that timed out, once for each comparison.
    init(limitSeconds: Double, onTimeout: @escaping @Sendable (Int) -> Void) {
        self.limitSeconds = limitSeconds
        self.onTimeout = onTimeout
    }

    /// Whether the present comparison has timed out.
    var isLate: Bool { late.load(ordering: .relaxed) }

    func begin(_ count: Int) {
        late.store(false, ordering: .relaxed)
        let arms = state.withLock { state in
            state.deadline = .now + .seconds(limitSeconds)
            state.count = count
            defer { state.isArmed = true }
            return !state.isArmed
        }
        if arms { arm(limitSeconds) }
    }

    /// Ends the comparison.
    ///
    /// - Returns: whether it was in time; otherwise the timeout was already reported.
    func end() -> Bool {
        state.withLock { $0.deadline = nil }
        return !isLate
    }

    private func arm(_ seconds: Double) {
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + seconds) { [weak self] in self?.look() }
    }

    private func look() {
        let (left, count) = state.withLock { state -> (Double?, Int) in
            guard let deadline = state.deadline else {
                state.isArmed = false
                return (nil, 0)
            }
            let left = (deadline - .now) / .seconds(1)
            if left > 0 { return (left, 0) }
            late.store(true, ordering: .relaxed)
            state.deadline = nil
            state.isArmed = false
            return (nil, state.count)
        }
        if let left { arm(left) }
        if count > 0 { onTimeout(count) }
    }
}
