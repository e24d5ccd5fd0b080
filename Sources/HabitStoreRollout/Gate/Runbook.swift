import HabitStore

/// What to do about each reason for which a user waits or a fleet is halted: by reason of the gate, by what halted the fleet, and by error code.
///
/// `habitstore rollout runbook` prints it, and the article *Runbook* is generated from it.
public enum Runbook {
    /// Why a fleet is halted.
    public enum Halt: String, Sendable, Hashable, Codable, CaseIterable {
        /// A user's stores differ.
        case haltedByDifference
        /// Too many users in a row could not be moved or checked.
        case haltedByErrors
        /// Too many verifications of one user in a row were inconclusive.
        case haltedWithoutConclusion
        /// More users of a wave were taken back than the plan allows.
        case haltedByDemotions
        /// Processes waited for the disk too much of the time.
        case haltedByDisk
        /// Users' writes became slower.
        case haltedBySlowWrites
        /// A person halted it.
        case haltedByPerson
    }

    /// All entries: the gate's reasons, then what halts a fleet, then errors. Kinds are unique.
    public static let entries = gate + halts + errors

    /// The entry of a kind; nil if there is none.
    public static func entry(_ kind: String) -> RunbookEntry? { byKind[kind] }

    /// The entries for the reasons of the gate.
    static let gate = GateReason.Kind.allCases.map(entry(of:))
    /// The entries for what halts a fleet.
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

    /// The command that shows the user's status.
    static let status = "`\(OperatorCommand.name) rollout status --root ROOT --user USER`"
    /// The command that moves the user on, providing missing proof.
    static let advance = "\(OperatorCommand.name) rollout advance --root ROOT --user USER"
    /// The command that compares the user's stores completely.
    static let verify = "\(OperatorCommand.name) rollout verify --root ROOT --user USER"
}
