/// What commands of `rollout` say aloud beside what they print.
enum RolloutNotes {
    /// The evidence could not take what has happened.
    static func owedEvidence(_ user: String) -> String {
        "\(user): the evidence cannot be written, so its lines are owed; what speaks against the user keeps the gate closed until "
            + "then, and `\(Tool.name) rollout doctor --user U --fix` adds them once the file can be written"
    }
}
