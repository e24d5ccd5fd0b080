/// One kind of evaluation, and what it may cost.
struct FlagPath {
    /// What is evaluated.
    let name: String
    /// The most that one may take, in nanoseconds; nil for no goal.
    let goalNanoseconds: Double?
    /// Whether the run fails where one allocates.
    let mustNotAllocate: Bool
    /// Evaluates once, and returns whether the answer is the right one. It is handed the evaluation's number, from 0.
    let evaluate: (_ number: Int) throws -> Bool
}
