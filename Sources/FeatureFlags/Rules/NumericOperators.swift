/// The operators that compute numbers. A value that is not a number makes the result NaN.
enum NumericOperators {
    private static let notANumber = JavaScriptNumber.notANumber

    /// `{"max": […]}`, `{"min": […]}`: JavaScript's `Math.max` and `Math.min`. Without values, the greatest is minus infinity
    /// and the least is infinity.
    static func extremum(isMaximum: Bool) -> RuleOperator.Body {
        { (arguments, evaluation) throws(EvaluationFault) in
            var extremum = JavaScriptNumber.double(isMaximum ? -.infinity : .infinity)
            var isNumber = true
            for argument in arguments {
                if let number = try argument.readValue(&evaluation).convertedNumber {
                    if isMaximum ? extremum < number : number < extremum { extremum = number }
                } else {
                    isNumber = false
                }
            }
            return (isNumber ? extremum : notANumber).flagValue
        }
    }

    /// `{"+": […]}`: the sum. Texts are read with JavaScript's `parseFloat`, so that `{"+": "3.14"}` turns one into a number.
    static func sum(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var sum = JavaScriptNumber.int(0)
        for argument in arguments { sum = sum + (try argument.readValue(&evaluation).parsedNumber ?? notANumber) }
        return sum.flagValue
    }

    /// `{"-": [left, right]}`: the difference; `{"-": value}`: the number with the other sign.
    static func difference(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        guard let first = arguments.first else { return notANumber.flagValue }
        let left = try first.readValue(&evaluation).convertedNumber ?? notANumber
        guard arguments.count > 1 else { return left.negated.flagValue }
        return (left - (try arguments[1].readValue(&evaluation).convertedNumber ?? notANumber)).flagValue
    }

    /// `{"*": […]}`: the product. Texts are read with JavaScript's `parseFloat`. As in json-logic-js a single value is returned
    /// unchanged, and without values the result is null.
    static func product(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        guard arguments.count > 1 else { return try arguments.value(at: 0, &evaluation) }
        var product: JavaScriptNumber?
        for argument in arguments {
            let factor = try argument.readValue(&evaluation).parsedNumber ?? notANumber
            product = product.map { $0 * factor } ?? factor
        }
        return (product ?? notANumber).flagValue
    }

    /// `{"/": [left, right]}`: the quotient; `{"%": [left, right]}`: the remainder, with the sign of the left side. Without
    /// a right side both are NaN.
    static func division(isRemainder: Bool) -> RuleOperator.Body {
        { (arguments, evaluation) throws(EvaluationFault) in
            guard arguments.count > 1 else { return notANumber.flagValue }
            let (left, right) = try arguments.pair(&evaluation)
            let dividend = left.convertedNumber ?? notANumber
            let divisor = right.convertedNumber ?? notANumber
            return (isRemainder ? dividend % divisor : dividend / divisor).flagValue
        }
    }
}
