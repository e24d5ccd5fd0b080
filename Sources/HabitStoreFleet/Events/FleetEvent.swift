import HabitStoreRollout

/// An event in a fleet's ledger. Only a halt caused by one user names that user, until the user is erased.
///
/// The JSON form is an object with the case's name as its key and the case's values as its value.
public enum FleetEvent: Sendable, Hashable, Codable {
    /// Waves were drawn, or their plan was replaced; `digest` is that of the members' file, `plan` that of the plan's.
    case drawn(users: Int, digest: String, by: String, plan: String? = nil)
    /// Users who have joined since were added to the last wave.
    case joined(users: Int, digest: String)
    /// A run began.
    case began(by: String)
    /// A run ended without an error: all waves are done, or a person stopped it.
    case ended(isDone: Bool)
    /// A hook confirmed that a wave may begin.
    case waveConfirmed(wave: Int, hook: String)
    /// A wave began to move its users.
    case waveBegan(wave: Int, name: String, users: Int)
    /// All users of a wave have reached the plan's stage, except those who cannot; the wave is now watched.
    case soakBegan(wave: Int, passedOver: Int)
    /// A wave's soak is over, and the next wave may begin.
    case waveDone(wave: Int)
    /// The fleet was paused: no new users are started.
    case paused(by: String, because: String)
    /// The pause ended: users are started again.
    case unpaused(by: String, because: String)
    /// The halt ended: users are moved again.
    case resumed(by: String, because: String)
    /// The fleet was halted: no users are moved. `user` is the user who caused it, if one did.
    case halted(by: String, because: String, user: String?)
    /// The users of a wave were taken back to `off`.
    case tookBack(wave: Int, users: Int, failed: Int)
    /// The kill switch was pulled for all users from the fleet's page.
    case killed(by: String, because: String)
    /// `rollout kill` took all users back within `seconds`, except `failed` ones.
    case killLanded(by: String, users: Int, failed: Int, seconds: Double)
    /// The stores that users of a wave had left were removed; those of `failed` users were kept.
    case retired(wave: Int, users: Int, failed: Int)
    /// The wall clock was moved by this many seconds during a run or between two runs.
    case clockMoved(seconds: Int)
    /// A user was erased: `digest` is that of the members' file without the user, nil if the user was in no wave. `redacted` lines had named the
    /// user; from the first of them on, all lines have new hashes, and `head` is the ledger's head before that.
    case forgotten(digest: String?, redacted: Int, head: String)

    /// Whether it ends a halt. Users who were taken back before it do not halt the fleet again.
    var isResumption: Bool { if case .resumed = self { true } else { false } }

    /// Whether it starts or stops moving users.
    var isOfMoving: Bool {
        switch self {
        case .began, .ended, .halted, .resumed: true
        default: false
        }
    }
}
