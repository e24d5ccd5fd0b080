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

/// What to do about one reason for which a user waits, or a fleet is halted.
public struct RunbookEntry: Sendable, Hashable, Codable {
    /// The reason's stable name, as in the evidence, the fleet's index and metrics.
    public let kind: String
    /// The symptom that an operator sees.
    public let symptom: String
    /// The cause, and what it means for the user.
    public let meaning: String
    /// The command that helps, or tells more. `ROOT`, `USER` and other words in capitals are placeholders.
    public let command: String
    /// How to check that it helped.
    public let check: String
}

extension Runbook {
    /// The article: the text of `Documentation.docc/Runbook.md`.
    package static var markdown: String {
        """
        # Runbook

        What to do about each reason for which a user waits or a fleet is halted.

        This file is generated from the list of reasons that the gate and the fleet use; a test compares the two. `habitstore rollout
        runbook KIND` prints one entry. Words in capitals are placeholders: `ROOT` for the root of the users' folders, `USER` for the user.

        ## Reasons of the gate

        `\(OperatorCommand.name) rollout status` and `\(OperatorCommand.name) fleet status` name them, and `habitstore_gate_refusals_total` counts them.

        \(sections(gate))

        ## A halted fleet

        `\(OperatorCommand.name) fleet status` says who or what halted it, and why. No user is moved until `\(OperatorCommand.name) fleet resume`.

        \(sections(halts))

        ## Errors

        A user who could not be moved or examined waits; the reason is the error's code.

        \(sections(errors))

        """
    }

    private static func sections(_ entries: [RunbookEntry]) -> String {
        entries.map { entry in
            """
            ### \(entry.kind)

            \(entry.symptom) \(entry.meaning)

            ```sh
            \(entry.command)
            ```

            *Check:* \(entry.check)
            """
        }.joined(separator: "\n\n")
    }
}
