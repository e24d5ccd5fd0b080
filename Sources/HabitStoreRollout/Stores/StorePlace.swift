import HabitStore

/// The role and epoch of a store. A change of the store must name those that it has seen, so that a process that was suspended during a move fails.
struct StorePlace: Sendable, Equatable {
    var role: StoreRole
    var epoch: Int
}
