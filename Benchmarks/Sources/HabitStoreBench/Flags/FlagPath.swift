/// A kind of evaluation and its limits.
struct FlagPath {
    /// The name for the report.
    let name: String
    /// The maximum time of one evaluation, in nanoseconds; nil without a goal.
    let goalNanoseconds: Double?
    /// Whether the run fails if an evaluation allocates.
    let mustNotAllocate: Bool
    /// Evaluates once, and returns whether the answer is correct. Its argument is the evaluation's number, from 0.
    let evaluate: (_ number: Int) throws -> Bool
}
