/// What is known of a user whose files are closed.
struct RestingUser {
    var wanted: WantedStage?
    var notes: [String] = []
    /// How far the mirror was.
    var mirror = MirrorStatus.none

    init() {}

    init(_ user: OpenUser) {
        mirror = user.mirrorStatus
        (wanted, notes) = user.state.withLock { ($0.wanted, $0.notes) }
    }
}
