/// The newest records of an evidence log, and whether all lines of its file are complete and unchanged.
public struct EvidenceListing: Sendable, Hashable {
    /// The newest records whose own hash is right, in the order of the file. After damage they say what was recorded, but not that nothing is
    /// missing.
    public internal(set) var records: [EvidenceRecord] = []
    /// The number of records in the file whose own hash is right.
    public internal(set) var count = 0
    /// The number of lines in the file.
    public var lines: Int { walk.line }
    /// The first damage; nil if the chain is intact.
    public var damage: EvidenceChain.Damage? { walk.damage }
    /// The number of bytes at the end that a crash left of an unacknowledged write: not damage.
    public internal(set) var tornBytes = 0
    var walk = EvidenceWalk()

    /// Whether every line follows the previous one, from the first line on.
    public var isIntact: Bool { damage == nil }
}
