/// How a run ended.
public enum FleetEnd: Sendable, Hashable {
    /// All users have reached the plan's stage, except those who were skipped because they were killed.
    case done(passedOver: Int)
    /// The fleet was halted: by whom or what, why, and for which user.
    case halted(by: String, because: String, user: String?)
}
