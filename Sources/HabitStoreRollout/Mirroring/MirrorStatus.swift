import HabitStore

/// How far the mirror of a user is.
public enum MirrorStatus: Sendable, CustomStringConvertible {
    /// This stage has no mirror.
    case none
    /// It holds everything up to this token, and nothing is known to be missing.
    case current(HistoryToken)
    /// It follows, and has not reached the last write that it was told of.
    case following(since: HistoryToken)
    /// It is being filled: so many records of so many.
    case copying(done: Int, total: Int)
    /// It cannot follow. Writes behind the token are in the authoritative store's history.
    case lagging(since: HistoryToken, HabitStoreError)

    /// One line.
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
