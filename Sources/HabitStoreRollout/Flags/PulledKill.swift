import FeatureFlags
import HabitStore

/// What pulls the kill switch for a user.
struct PulledKill: Sendable {
    let text: String
    /// Whether it is for everybody, and is remembered for everybody until somebody re-arms.
    let isForAll: Bool
}

extension FlagWatch {
    /// What pulls the kill switch as far as this process knows, or pulled it for everybody and nobody has re-armed.
    func pulledKill(for context: EvaluationContext) -> PulledKill? {
        if let signal = provider.killSignal(context: context) {
            if case .sentinel = signal { return PulledKill(text: signal.description, isForAll: true) }
            return PulledKill(text: signal.description, isForAll: false)
        }
        guard latch.isSet else { return nil }
        let text = "the kill switch was pulled for everybody and not re-armed (\(latch.path))"
        return PulledKill(text: text, isForAll: false)
    }

    /// - Throws: ``HabitStoreError/Code/unsupported`` while something pulls the kill switch, with what helps.
    func requireNoKill(for context: EvaluationContext) throws {
        refresh()
        if let signal = provider.killSignal(context: context) {
            throw HabitStoreError(.unsupported, "the kill switch is still pulled: \(signal); take that away first")
        }
        guard !latch.isSet else {
            throw HabitStoreError(
                .unsupported,
                "the kill switch was pulled for everybody; re-arm the whole root first",
                at: .init(path: latch.path)
            )
        }
    }
}
