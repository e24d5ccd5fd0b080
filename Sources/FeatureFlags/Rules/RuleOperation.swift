/// An operator with its arguments, and the place in the file where it stands.
final class RuleOperation: Sendable {
    let name: String
    let line: Int
    let column: Int
    private let implementation: any RuleOperator

    init(_ name: String, _ implementation: any RuleOperator, at location: FlagError.Location) {
        self.name = name
        self.implementation = implementation
        line = location.line ?? 0
        column = location.column ?? 0
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        try evaluation.spend(1)
        guard let trace = evaluation.trace else { return try implementation.evaluate(&evaluation) }
        let step = trace.begin(self)
        let value = try implementation.evaluate(&evaluation)
        trace.end(step, value)
        return value
    }
}
