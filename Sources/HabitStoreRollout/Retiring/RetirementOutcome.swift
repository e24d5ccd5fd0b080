import Foundation
@_spi(Engines) import HabitStore

/// What came of a try to remove the store that a user has left.
public struct RetirementOutcome: Sendable {
    /// What the gate says, with all that keeps it closed.
    public internal(set) var decision: GateDecision
    /// The engine of the store.
    public let engine: EngineName
    /// Where the store is, or was.
    public let place: String
    /// Whether it was removed.
    public internal(set) var isRemoved = false
    /// Whether it was removed before, by an earlier retirement of this stay at `complete`.
    public internal(set) var wasRemovedBefore = false
    /// What stays beside a store that was removed, by name: somebody or something has put it aside, and it may hold what nothing else
    /// has.
    public internal(set) var leftBeside: [String] = []

    init(_ decision: GateDecision, _ engine: EngineName, _ address: StoreAddress) {
        (self.decision, self.engine, place) = (decision, engine, address.path)
    }
}
