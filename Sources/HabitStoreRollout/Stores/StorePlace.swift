import HabitStore

/// The role and the epoch of a store, which whoever changes them proves to have seen: a process that slept through a move
/// finds another one.
struct StorePlace: Sendable, Equatable {
    var role: StoreRole
    var epoch: Int
}
