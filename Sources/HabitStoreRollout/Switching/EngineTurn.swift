import HabitStore

/// Whether the engines swap roles, or another rollout begins: what the flags want for a user served by only one engine.
struct EngineTurn {
    private let actual: ActualStage
    private let wanted: WantedStage

    init(_ actual: ActualStage, _ wanted: WantedStage) { (self.actual, self.wanted) = (actual, wanted) }

    private var state: RolloutState { actual.state }
    private var isAtAnEnd: Bool { actual.stage == .off || actual.stage == .complete }

    /// Whether a percentage names other engines for a user whose engines a percentage chose.
    var isRebucketed: Bool { wanted.pairedBy == .percentage && state.pairedBy == .percentage }

    /// Whether the flags name other engines, or other roles for them, for a user for whom that can matter now.
    var isProposed: Bool {
        wanted.isAnswered && state.engines != wanted.engines
            && (isAtAnEnd || state.engines.isOther(than: wanted.engines))
    }

    /// Whether to do it. The wanted engines must be those of the rollout, or continue from the user's engine after its other store is gone; a store
    /// of an engine that this program lacks may still exist.
    ///
    /// - Parameters:
    ///   - known: the engines of this program.
    ///   - identity: the identity of the flag files.
    ///   - exists: whether the user has a store of an engine.
    func isDue(_ known: Engines, identity: String, _ exists: (EngineName) -> Bool) -> Bool {
        guard isProposed, isAtAnEnd, !isRebucketed, !state.isKilled, !state.hasTurned(by: identity) else {
            return false
        }
        return !state.engines.isOther(than: wanted.engines)
            || wanted.engines.contains(actual.engine) && known.contains(actual.other) && !exists(actual.other)
    }

    /// Why it is not done, in one line.
    var refusal: String {
        let engines = state.engines
        let reason =
            engines.isOther(than: wanted.engines)
            ? "the user's rollout is between \(engines.old.rawValue) and \(engines.new.rawValue); another one begins "
                + "when it is over and the old store is gone"
            : state.isKilled
                ? "the user was killed and is not taken to \(state.fled?.rawValue ?? "the other engine") before a re-arm"
                : isRebucketed
                    ? "a percentage chose the user's engines, and one that has changed since does not move the user"
                    : "flag files disagree: others have put the user here since these did"
        return
            "stays on \(actual.engine.rawValue), though \(wanted.oldKey) is \(wanted.engines.old.rawValue): \(reason)"
    }
}
