/// Whether all of a user's evidence is there as it was written, archives included.
public struct EvidenceVerification: Sendable, Hashable, Codable {
    /// A line that is not as it was written.
    public struct Damage: Sendable, Hashable, Codable {
        /// The name of its file.
        public let file: String
        /// The line, from 1.
        public let line: Int
        /// What is wrong with it.
        public let reason: String
    }

    /// How many files were read.
    public internal(set) var files = 0
    /// How many records are in them.
    public internal(set) var records = 0
    /// The first damage of the newest file that has one.
    public internal(set) var damage: Damage?
    /// The records up to this one were archived, and their archive is not there; nil where nothing is missing. The first
    /// checkpoint behind them stands for them, so that the gate can be asked; but it can only be believed.
    public internal(set) var missingUpTo: Int?
    /// Whether it ends before what the stores remember of it, or is another's.
    public internal(set) var isCutOff = false

    /// Whether everything is there as it was written.
    public var isWhole: Bool { damage == nil && missingUpTo == nil && !isCutOff }
}
