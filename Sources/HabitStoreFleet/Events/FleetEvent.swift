import HabitStoreRollout

/// Something that was done with a fleet. None of it names a user but the one for whom it was halted, until
/// that one is erased.
///
/// The JSON form is one object with the case's name, whose value is an object of the case's values.
public enum FleetEvent: Sendable, Hashable, Codable {
    /// Waves were drawn, or their plan given anew; `digest` is that of the members' file, `plan` that of the plan's.
    case drawn(users: Int, digest: String, by: String, plan: String? = nil)
    /// Those who have come since were added to the last wave.
    case joined(users: Int, digest: String)
    /// A run began.
    case began(by: String)
    /// A run ended without anything wrong: all waves are done, or somebody has stopped it.
    case ended(isDone: Bool)
    /// A hook has answered that a wave may begin.
    case waveConfirmed(wave: Int, hook: String)
    /// Users of a wave are moved from here on.
    case waveBegan(wave: Int, name: String, users: Int)
    /// All users of a wave have come to the plan's stage, but for so many who cannot; they are watched from here on.
    case soakBegan(wave: Int, passedOver: Int)
    /// A wave's time is over, and the next one may begin.
    case waveDone(wave: Int)
    /// Nobody is begun with.
    case paused(by: String, because: String)
    /// Users are begun with again.
    case unpaused(by: String, because: String)
    /// Users are moved again.
    case resumed(by: String, because: String)
    /// Nobody is moved any more; `user` is the one for whom, where it was one.
    case halted(by: String, because: String, user: String?)
    /// The users of a wave were taken back.
    case tookBack(wave: Int, users: Int, failed: Int)
    /// The kill switch was pulled for everybody from the fleet's page.
    case killed(by: String, because: String)
    /// `rollout kill` has taken everybody back, but for so many who could not be, in so many seconds.
    case killLanded(by: String, users: Int, failed: Int, seconds: Double)
    /// The stores that users of a wave had left were removed; those of `failed` users were kept.
    case retired(wave: Int, users: Int, failed: Int)
    /// The clock of the day was moved by so many seconds while a run was at work, or between two.
    case clockMoved(seconds: Int)
    /// A user was erased: `digest` is that of the members' file without the user, nil for one who was in no wave. `redacted` lines before
    /// had named the user; they, and all after the first of them, have other hashes since, and `head` is the place that the ledger was at
    /// before.
    case forgotten(digest: String?, redacted: Int, head: String)

    /// Whether it ends a halt. Users who were taken back before do not halt the fleet again.
    var isResumption: Bool { if case .resumed = self { true } else { false } }

    /// Whether it says whether users are moved.
    var isOfMoving: Bool {
        switch self {
        case .began, .ended, .halted, .resumed: true
        default: false
        }
    }
}
