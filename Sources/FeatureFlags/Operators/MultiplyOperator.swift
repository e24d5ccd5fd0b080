/// `{"*": […]}`: the product. Texts are read with JavaScript's `parseFloat`. As in json-logic-js a single value is returned unchanged, and without
/// values the result is null.
struct MultiplyOperator: RuleOperator {
    static let names = ["*"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        guard arguments.count > 1 else { return try arguments.value(at: 0, &evaluation) }
        var product: JavaScriptNumber?
        for argument in arguments {
            let value = try argument.evaluate(&evaluation)
            try evaluation.spend(onReading: value)
            let factor = value.parsedNumber ?? .notANumber
            product = product.map { $0 * factor } ?? factor
        }
        return (product ?? .notANumber).flagValue
    }
}
