extension FleetEvent {
    /// The event and its details for people.
    public var words: (what: String, details: String) {
        switch self {
        case .drawn(let users, let digest, let person, _):
            ("drawn", "\(users.counted("user")), by \(person), \(digest.prefix(12))…")
        case .joined(let users, let digest):
            ("joined", "\(users.counted("user")) in the last wave, \(digest.prefix(12))…")
        case .began(let person): ("a run began", "by \(person)")
        case .ended(let isDone): ("a run ended", isDone ? "all waves are done" : "")
        case .waveConfirmed(let wave, let hook): ("wave \(wave + 1) is confirmed", "by the hook \(hook)")
        case .waveBegan(let wave, let name, let users): ("wave \(wave + 1) began", "\(name), \(users.counted("user"))")
        case .soakBegan(let wave, let passedOver):
            ("wave \(wave + 1) is watched", passedOver > 0 ? "\(passedOver.counted("user")) skipped" : "")
        case .waveDone(let wave): ("wave \(wave + 1) is done", "")
        case .paused(let person, let reason): ("paused", "by \(person): \(reason)")
        case .unpaused(let person, let reason): ("continued", "by \(person): \(reason)")
        case .resumed(let person, let reason): ("resumed", "by \(person): \(reason)")
        case .halted(let person, let reason, let user):
            ("HALTED", "by \(person): \(reason)" + (user.map { " (user \($0))" } ?? ""))
        case .tookBack(let wave, let users, let failed):
            ("wave \(wave + 1) was taken back", "\(users.counted("user")), \(failed) could not be")
        case .retired(let wave, let users, let failed):
            (
                "wave \(wave + 1) was retired",
                "the stores that \(users.counted("user")) had left are removed, those of \(failed) are kept"
            )
        case .forgotten(let digest, let redacted, let head):
            (
                "a user was erased",
                (digest.map { "of the members, \($0.prefix(12))…; " } ?? "")
                    + "\(redacted.counted("line")) redacted; the ledger was at \(head.prefix(20))…"
            )
        case .clockMoved(let seconds): ("the clock was moved", "by \(seconds) seconds")
        case .killed(let person, let reason): ("KILLED", "by \(person): \(reason)")
        case .killLanded(let person, let users, let failed, let seconds):
            (
                "a kill took effect",
                "by \(person): \(users.counted("user")) in \((seconds * 10).rounded() / 10) s, \(failed) could not be taken back"
            )
        }
    }
}
