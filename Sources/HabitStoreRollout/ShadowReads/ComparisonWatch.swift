import Dispatch
import Synchronization

/// Sees to the deadline of what is being compared, also when the thread that compares hangs in a store.
final class ComparisonWatch: Sendable {
    private struct State {
        /// When the present comparison is too late; nil where there is none, or its end was told already.
        var deadline: ContinuousClock.Instant?
        /// How many questions it concerns.
        var count = 0
        var isArmed = false
    }

    private let limitSeconds: Double
    private let onTimeout: @Sendable (Int) -> Void
    private let state = Mutex(State())
    private let late = Atomic<Bool>(false)

    /// - Parameter onTimeout: is told how many questions ran out of time, once for each of them.
    init(limitSeconds: Double, onTimeout: @escaping @Sendable (Int) -> Void) {
        self.limitSeconds = limitSeconds
        self.onTimeout = onTimeout
    }

    /// Whether the present comparison has run out of time.
    var isLate: Bool { late.load(ordering: .relaxed) }

    /// A comparison begins.
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

    /// The comparison has ended.
    ///
    /// - Returns: whether it was in time; else that was told already.
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
