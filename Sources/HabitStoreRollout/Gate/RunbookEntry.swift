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
