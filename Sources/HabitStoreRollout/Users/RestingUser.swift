/// The known state of a user whose files are closed.
struct RestingUser {
    var wanted: WantedStage?
    var notes: [String] = []
    /// The mirror's last status.
    var mirror = MirrorStatus.none

    init() {}

    init(_ state: OpenUser.State, _ mirror: MirrorStatus) {
        (wanted, notes) = (state.wanted, state.notes)
        self.mirror = mirror
    }
}
