import HabitStore

/// What to do about each reason for which a user waits or a fleet is halted: by the gate's reasons, by what halts a fleet, and by the
/// codes of errors.
///
/// `habitstore rollout runbook` prints it, and the article *Runbook* is made from it.
public enum Runbook {
    /// Why a fleet is halted.
    public enum Halt: String, Sendable, Hashable, Codable, CaseIterable {
        /// A user's stores differ.
        case haltedByDifference
        /// So many users in a row could not be moved or looked at.
        case haltedByErrors
        /// So many verifications of one user in a row came to no conclusion.
        case haltedWithoutConclusion
        /// More users of a wave were taken back than the plan allows.
        case haltedByDemotions
        /// Something waited for the disk in too large a share of the time.
        case haltedByDisk
        /// Users' writes have become slower.
        case haltedBySlowWrites
        /// A person has halted it.
        case haltedByPerson
    }

    /// All entries: the gate's reasons, then what halts a fleet, then errors. No two have the same kind.
    public static let entries = gate + halts + errors

    /// The entry of a reason; nil for a name that is not a reason's.
    public static func entry(_ kind: String) -> RunbookEntry? { byKind[kind] }

    /// Of each reason of the gate.
    static let gate = GateReason.Kind.allCases.map(entry(of:))
    /// Of whatever halts a fleet.
    static let halts = Halt.allCases.map(entry(of:))

    private static let byKind = Dictionary(entries.map { ($0.kind, $0) }) { first, _ in first }
}

extension RunbookEntry {
    init(_ kind: GateReason.Kind, symptom: String, meaning: String, command: String, check: String) {
        self.init(kind: kind.rawValue, symptom: symptom, meaning: meaning, command: command, check: check)
    }

    init(_ halt: Runbook.Halt, symptom: String, meaning: String, command: String, check: String) {
        self.init(kind: halt.rawValue, symptom: symptom, meaning: meaning, command: command, check: check)
    }

    /// What `habitstore rollout status` shows of the user.
    static let status = "`\(OperatorCommand.name) rollout status --root ROOT --user USER`"
    /// Moves the user on, with whatever proof is missing.
    static let advance = "\(OperatorCommand.name) rollout advance --root ROOT --user USER"
    /// Compares the user's stores in full.
    static let verify = "\(OperatorCommand.name) rollout verify --root ROOT --user USER"
}
