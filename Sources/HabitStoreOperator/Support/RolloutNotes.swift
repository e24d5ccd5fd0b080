import HabitStoreRollout

/// Notes that several `rollout` commands print.
enum RolloutNotes {
    /// The line that points to an entry of the runbook.
    static func help(_ kind: String) -> String { "what helps: \(Tool.name) rollout runbook \(kind)\n" }

    /// The line for a reason of the gate.
    static func help(against kind: GateReason.Kind) -> String { help(kind.rawValue) }

    /// The note that the evidence could not be written.
    static func owedEvidence(_ user: String) -> String {
        "\(user): the evidence cannot be written, so its lines are owed; those that close the gate keep it closed until then, "
            + "and `\(Tool.name) rollout doctor --user U --fix` adds them once the file can be written"
    }
}
