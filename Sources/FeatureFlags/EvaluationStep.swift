/// One operator of a rule that was evaluated, as an explanation shows it.
public struct EvaluationStep: Sendable, Equatable {
    /// The operator's name, such as `if` or `sem_ver`.
    public let `operator`: String
    /// The line in the flag file where it stands, counted from 1.
    public let line: Int
    /// The column in the flag file where it stands, counted from 1.
    public let column: Int
    /// How deep it stands in other operators; 0 is the rule itself.
    public let depth: Int
    /// The result; nil if the evaluation was aborted inside the step. May contain values of the context.
    public internal(set) var result: FlagValue?
    /// How the percentage was decided, for `fractional`.
    public internal(set) var fractional: FractionalChoice?
}
