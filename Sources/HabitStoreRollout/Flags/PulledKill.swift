import FeatureFlags
import HabitStore

/// What pulls the kill switch for a user.
struct PulledKill: Sendable {
    let text: String
    /// Remembers the kill until somebody re-arms, for everybody for whom it is pulled; nil where it is pulled for single users, or is
    /// remembered.
    var latch: KillLatch?
}

extension FlagWatch {
    /// What pulls the kill switch as far as this process knows, or pulled it for everybody and nobody has re-armed. No provider is asked
    /// where a file says enough.
    func pulledKill(for subject: FlagSubject) -> PulledKill? {
        for place in places {
            guard let path = place.sentinel else { continue }
            return PulledKill(text: KillSignal.sentinel(path: path).description, latch: place.latch)
        }
        if provided == nil, let signal = flagSignal(for: subject) {
            // The sentinel file was looked for, and may be there by now.
            if case .sentinel = signal { return PulledKill(text: signal.description, latch: latch) }
            return PulledKill(text: signal.description)
        }
        if let latch = places.map(\.latch).first(where: \.isSet) {
            return PulledKill(text: "the kill switch was pulled for everybody and not re-armed (\(latch.path))")
        }
        return provided == nil ? nil : flagSignal(for: subject).map { PulledKill(text: $0.description) }
    }

    /// The kill flag, where it is true for a user.
    private func flagSignal(for subject: FlagSubject) -> KillSignal? {
        guard provided != nil else { return provider.killSignal(context: subject.context) }
        return answers(for: subject)?.killVariant.map { .flag(key: keys.kill, variant: $0) }
    }

    /// - Throws: ``HabitStoreError/Code/unsupported`` while something pulls the kill switch, or a provider does not say whether it does,
    ///   with what helps.
    func requireNoKill(for subject: FlagSubject) throws {
        refresh(for: subject)
        let sentinel = places.lazy.compactMap(\.sentinel).first.map { KillSignal.sentinel(path: $0) }
        if let signal = sentinel ?? flagSignal(for: subject) {
            throw HabitStoreError(.unsupported, "the kill switch is still pulled: \(signal); take that away first")
        }
        if let answers = answers(for: subject), let failure = answers.failure {
            throw HabitStoreError(
                .unsupported,
                "nobody can tell whether the kill switch is still pulled: \(answers.source): \(failure); re-arm once it answers"
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
