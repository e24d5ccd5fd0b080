/// Why an evaluation was given up.
enum EvaluationFault: Error {
    /// It took more than ``FlagLimits/evaluationWork`` steps.
    case tooMuchWork
    /// A value of the context stands deeper than ``FlagLimits/jsonDepth``.
    case tooDeep

    var message: String {
        switch self {
        case .tooMuchWork:
            "the targeting took more than \(FlagLimits.evaluationWork) steps; make the rule or the context smaller"
        case .tooDeep:
            "a list of the context stands more than \(FlagLimits.jsonDepth) deep"
        }
    }
}
