import HabitStore

/// What one of a user's stores says of itself.
struct Standing: Sendable {
    let engine: EngineName
    let information: StoreInformation
    /// Nil in a store that no rollout has touched.
    let state: RolloutState?

    var role: StoreRole { information.role }
    var epoch: Int { information.epoch }
    var token: HistoryToken { information.token }
}
