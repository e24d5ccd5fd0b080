/// How a run ended.
public enum FleetEnd: Sendable, Hashable {
    /// Everybody is where the plan wants them, but for so many who were killed.
    case done(passedOver: Int)
    /// Nobody is moved any more: who or what has stopped it, why, and for which user.
    case halted(by: String, because: String, user: String?)
}
