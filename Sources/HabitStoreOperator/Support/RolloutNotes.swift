import HabitStoreRollout

/// What commands of `rollout` say aloud beside what they print.
enum RolloutNotes {
    /// The line that leads to an entry of the runbook.
    static func help(_ kind: String) -> String { "what helps: \(Tool.name) rollout runbook \(kind)\n" }

    /// The same of a reason of the gate.
    static func help(against kind: GateReason.Kind) -> String { help(kind.rawValue) }

    /// The evidence could not take what has happened.
    static func owedEvidence(_ user: String) -> String {
        "\(user): the evidence cannot be written, so its lines are owed; what speaks against the user keeps the gate closed until "
            + "then, and `\(Tool.name) rollout doctor --user U --fix` adds them once the file can be written"
    }
}
