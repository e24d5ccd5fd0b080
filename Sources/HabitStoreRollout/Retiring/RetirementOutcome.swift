import Foundation
@_spi(Engines) import HabitStore

/// The outcome of an attempt to remove the store that a user has left.
public struct RetirementOutcome: Sendable {
    /// The gate's decision, with every reason that keeps it closed.
    public internal(set) var decision: GateDecision
    /// The engine of the store.
    public let engine: EngineName
    /// The store's path or address, even after its removal.
    public let place: String
    /// Whether it was removed.
    public internal(set) var isRemoved = false
    /// Whether an earlier retirement in this stay at `complete` removed it.
    public internal(set) var wasRemovedBefore = false
    /// The names of files that stay next to the removed store: they were put aside there, and may contain records that nothing else has.
    public internal(set) var leftBeside: [String] = []

    init(_ decision: GateDecision, _ engine: EngineName, _ address: StoreAddress) {
        (self.decision, self.engine, place) = (decision, engine, address.path)
    }
}
