import HabitStore

/// A user's actual stage, according to the stores.
struct ActualStage: Sendable {
    /// The stage, and which engine is the old one.
    var state: RolloutState
    /// The epoch of the authoritative store.
    var epoch: Int
    /// The authoritative store's token when it was read.
    var token: HistoryToken
    /// Why the mirror cannot take writes at a stage that needs it, so that none can be acknowledged.
    var obstacle: HabitStoreError?
    /// What happened on the way here, for operators.
    var notes: [String] = []

    /// What shows that the user's folder, or a part of it, was restored from a copy; nil if nothing does.
    var putBack: String?

    var stage: Stage { state.stage }

    /// The engine of the authoritative store.
    var engine: EngineName { state.engine(state.stage.authority) }

    var other: EngineName { state.engine(state.stage.authority.other) }
}
