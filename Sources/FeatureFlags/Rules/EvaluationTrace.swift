/// A record of one evaluation, for explaining it to a person. Evaluations without an explanation have none.
package final class EvaluationTrace {
    private(set) var steps: [EvaluationStep] = []
    /// The work that the evaluation was, see ``WorkMeter``.
    var work = 0
    private var depth = 0

    /// Notes that an operator began; returns its place in `steps`.
    func begin(_ operation: RuleOperation) -> Int {
        depth += 1
        guard steps.count < FlagLimits.traceSteps else { return -1 }
        steps.append(
            EvaluationStep(
                operator: operation.name,
                line: operation.line,
                column: operation.column,
                depth: depth - 1,
                result: nil,
                fractional: nil
            )
        )
        return steps.count - 1
    }

    func end(_ step: Int, _ value: FlagValue) {
        depth -= 1
        if step >= 0 { steps[step].result = value }
    }

    /// Adds to the operator that began last, which is `fractional` itself: its arguments have ended.
    func add(_ choice: FractionalChoice) {
        guard let step = steps.lastIndex(where: { $0.operator == "fractional" && $0.result == nil }) else { return }
        steps[step].fractional = choice
    }
}
