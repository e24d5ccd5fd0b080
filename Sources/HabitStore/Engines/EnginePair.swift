/// The two engines of a rollout: the one that users come from, and the one that they go to.
public struct EnginePair: Sendable, Hashable {
    /// The engine that users come from.
    public var old: EngineName
    /// The engine that they go to.
    public var new: EngineName

    /// Names two engines.
    public init(old: EngineName, new: EngineName) { (self.old, self.new) = (old, new) }

    /// Both, the old one first.
    public var names: [EngineName] { [old, new] }

    /// The other one of the two.
    public func other(than engine: EngineName) -> EngineName { engine == old ? new : old }

    /// Whether the two are not the same as another rollout's, in whatever direction.
    public func isOther(than pair: EnginePair) -> Bool { !contains(pair.old) || !contains(pair.new) }

    /// Whether an engine is one of the two.
    public func contains(_ engine: EngineName) -> Bool { engine == old || engine == new }
}
