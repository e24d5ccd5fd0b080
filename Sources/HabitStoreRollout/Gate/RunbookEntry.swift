/// What to do about one reason for which a user waits, or a fleet is halted.
public struct RunbookEntry: Sendable, Hashable, Codable {
    /// The reason's stable name, as it stands in the evidence, in the fleet's index and in metrics.
    public let kind: String
    /// How it shows.
    public let symptom: String
    /// What it means.
    public let meaning: String
    /// The command that helps, or says more. `ROOT`, `USER` and other words in capitals stand for what has to be filled in.
    public let command: String
    /// How to see that it helped.
    public let check: String
}
