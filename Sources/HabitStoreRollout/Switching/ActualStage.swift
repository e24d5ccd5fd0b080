import HabitStore

/// Where a user is in truth, as the stores have it.
struct ActualStage: Sendable {
    /// The stage, and which engine is the old one.
    var state: RolloutState
    /// The epoch of the authoritative store.
    var epoch: Int
    /// The authoritative store's token when it was looked at.
    var token: HistoryToken
    /// Why the mirror cannot take what it has to take at this stage, so that no write can be acknowledged.
    var obstacle: HabitStoreError?
    /// What happened on the way here that an engineer should know.
    var notes: [String] = []

    /// What was found of the user's folder that shows that it, or a part of it, was put back from a copy.
    var putBack: String?

    var stage: Stage { state.stage }

    /// The engine of the authoritative store.
    var engine: EngineName { state.engine(state.stage.authority) }

    /// The other engine.
    var other: EngineName { state.engine(state.stage.authority.other) }
}
