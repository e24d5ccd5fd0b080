import HabitStore

/// The state of a user's mirror.
public enum MirrorStatus: Sendable, CustomStringConvertible {
    /// This stage has no mirror.
    case none
    /// It has everything up to this token, and nothing is known to be missing.
    case current(HistoryToken)
    /// It is following, but has not reached the last requested write.
    case following(since: HistoryToken)
    /// It is being filled: `done` of `total` records.
    case copying(done: Int, total: Int)
    /// It cannot follow. Later writes are in the authoritative store's history.
    case lagging(since: HistoryToken, HabitStoreError)

    /// The state in one line.
    public var description: String {
        switch self {
        case .none: "none"
        case .current(let token): "current at token \(token)"
        case .following(let token): "following from token \(token)"
        case .copying(let done, let total): "copying, \(done) of \(total) records"
        case .lagging(let token, let error): "lagging since token \(token): \(error.description)"
        }
    }
}
