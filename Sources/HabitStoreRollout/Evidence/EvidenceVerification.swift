/// Whether all of a user's evidence, archives included, is complete and unchanged.
public struct EvidenceVerification: Sendable, Hashable, Codable {
    /// A changed or damaged line.
    public struct Damage: Sendable, Hashable, Codable {
        /// The name of its file.
        public let file: String
        /// The line, from 1.
        public let line: Int
        /// The problem.
        public let reason: String
    }

    /// The number of files that were read.
    public internal(set) var files = 0
    /// The number of records in them.
    public internal(set) var records = 0
    /// The first damage of the newest file that has one.
    public internal(set) var damage: Damage?
    /// The records up to this one were archived, and their archive is missing; nil if none is. The first checkpoint after them replaces them, so that
    /// the gate still works, but it can no longer be checked.
    public internal(set) var missingUpTo: Int?
    /// Whether the evidence ends before the stores' anchor, or is another user's.
    public internal(set) var isCutOff = false

    /// Whether everything is complete and unchanged.
    public var isWhole: Bool { damage == nil && missingUpTo == nil && !isCutOff }
}
