import FeatureFlags
import HabitStore

/// A kill switch that is pulled for a user.
struct PulledKill: Sendable {
    let text: String
    /// Where to record the kill for all users whom it concerns, until a person re-arms it; nil if it concerns single users, or is already recorded.
    var latch: KillLatch?
}

extension FlagWatch {
    /// The kill switch that is pulled for the user, as far as this process knows, or was pulled for all users and not re-armed. Does not ask the
    /// provider if a file decides.
    func pulledKill(for subject: FlagSubject) -> PulledKill? {
        for place in places {
            guard let path = place.sentinel else { continue }
            return PulledKill(text: KillSignal.sentinel(path: path).description, latch: place.latch)
        }
        if provided == nil, let signal = flagSignal(for: subject) {
            // The sentinel file may have appeared since the check above.
            if case .sentinel = signal { return PulledKill(text: signal.description, latch: latch) }
            return PulledKill(text: signal.description)
        }
        if let latch = places.map(\.latch).first(where: \.isSet) {
            return PulledKill(text: "the kill switch was pulled for everybody and not re-armed (\(latch.path))")
        }
        return provided == nil ? nil : flagSignal(for: subject).map { PulledKill(text: $0.description) }
    }

    /// The kill flag, if it is true for a user.
    private func flagSignal(for subject: FlagSubject) -> KillSignal? {
        guard provided != nil else { return provider.killSignal(context: subject.context) }
        return answers(for: subject)?.killVariant.map { .flag(key: keys.kill, variant: $0) }
    }

    /// - Throws: ``HabitStoreError/Code/unsupported`` while the kill switch is pulled, or a provider does not say whether it is; the message says
    ///   what to do.
    func requireNoKill(for subject: FlagSubject) throws {
        refresh(for: subject)
        let sentinel = places.lazy.compactMap(\.sentinel).first.map { KillSignal.sentinel(path: $0) }
        if let signal = sentinel ?? flagSignal(for: subject) {
            throw HabitStoreError(.unsupported, "the kill switch is still pulled: \(signal); take that away first")
        }
        if let answers = answers(for: subject), let failure = answers.failure {
            throw HabitStoreError(
                .unsupported,
                "it is unknown whether the kill switch is still pulled: \(answers.source): \(failure); re-arm once it answers"
            )
        }
        if let latch = places.map(\.latch).first(where: \.isSet) {
            throw HabitStoreError(
                .unsupported,
                "the kill switch was pulled for everybody; re-arm the whole root first",
                at: .init(path: latch.path)
            )
        }
    }
}
