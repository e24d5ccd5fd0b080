/// The newest records of an evidence log, and whether all lines of its file are there as they were written.
public struct EvidenceListing: Sendable, Hashable {
    /// The newest of the records whose own hash is right, in the order of the file. After a damage they say what was recorded,
    /// but not that it is everything.
    public internal(set) var records: [EvidenceRecord] = []
    /// How many records the file has whose own hash is right.
    public internal(set) var count = 0
    /// How many lines the file has.
    public var lines: Int { walk.line }
    /// The first damage; nil when the chain is intact.
    public var damage: EvidenceChain.Damage? { walk.damage }
    /// How many bytes at the end are what a crash left of a write that nobody was told of: no damage.
    public internal(set) var tornBytes = 0
    var walk = EvidenceWalk()

    /// Whether every line follows the one before it, from the first on.
    public var isIntact: Bool { damage == nil }
}
