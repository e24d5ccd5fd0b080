/// `{"<": [left, right]}`, `{"<=": [left, right]}`: JavaScript's order. With a third argument, whether the second lies
/// between the first and the third.
struct LessOperator: RuleOperator {
    static let names = ["<", "<="]

    private let arguments: [Rule]
    private let orEqual: Bool

    init(_ call: RuleCall) {
        arguments = call.arguments
        orEqual = call.name == "<="
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        // A missing side is JavaScript's undefined, and that is NaN.
        guard arguments.count > 1 else { return false }
        let left = try arguments[0].evaluate(&evaluation)
        let middle = try arguments[1].evaluate(&evaluation)
        try evaluation.spend(onReading: left)
        try evaluation.spend(onReading: middle)
        guard left.isLess(than: middle, orEqual: orEqual) else { return false }
        guard arguments.count > 2 else { return true }
        let right = try arguments[2].evaluate(&evaluation)
        try evaluation.spend(onReading: right)
        return .bool(middle.isLess(than: right, orEqual: orEqual))
    }
}

/// `{">": [left, right]}`, `{">=": [left, right]}`: JavaScript's order. There is no form with three arguments.
struct GreaterOperator: RuleOperator {
    static let names = [">", ">="]

    private let arguments: [Rule]
    private let orEqual: Bool

    init(_ call: RuleCall) {
        arguments = call.arguments
        orEqual = call.name == ">="
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        // A missing side is JavaScript's undefined, and that is NaN.
        guard arguments.count > 1 else { return false }
        let left = try arguments[0].evaluate(&evaluation)
        let right = try arguments[1].evaluate(&evaluation)
        try evaluation.spend(onReading: left)
        try evaluation.spend(onReading: right)
        return .bool(right.isLess(than: left, orEqual: orEqual))
    }
}

/// `{"max": […]}`, `{"min": […]}`: JavaScript's `Math.max` and `Math.min`. A value that is not a number makes the result NaN; without values, the
/// greatest is minus infinity and the least is infinity.
struct ExtremumOperator: RuleOperator {
    static let names = ["max", "min"]

    private let arguments: [Rule]
    private let isMaximum: Bool

    init(_ call: RuleCall) {
        arguments = call.arguments
        isMaximum = call.name == "max"
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var extremum = JavaScriptNumber.double(isMaximum ? -.infinity : .infinity)
        var isNumber = true
        for argument in arguments {
            let value = try argument.evaluate(&evaluation)
            try evaluation.spend(onReading: value)
            guard let number = value.convertedNumber else {
                isNumber = false
                continue
            }
            if isMaximum ? extremum < number : number < extremum { extremum = number }
        }
        return (isNumber ? extremum : .notANumber).flagValue
    }
}

/// `{"+": […]}`: the sum. Texts are read with JavaScript's `parseFloat`, so that `{"+": "3.14"}` turns one into a number.
struct AddOperator: RuleOperator {
    static let names = ["+"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var sum = JavaScriptNumber.int(0)
        for argument in arguments {
            let value = try argument.evaluate(&evaluation)
            try evaluation.spend(onReading: value)
            sum = sum + (value.parsedNumber ?? .notANumber)
        }
        return sum.flagValue
    }
}

/// `{"-": [left, right]}`: the difference; `{"-": value}`: the number with the other sign.
struct SubtractOperator: RuleOperator {
    static let names = ["-"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        guard !arguments.isEmpty else { return JavaScriptNumber.notANumber.flagValue }
        let value = try arguments[0].evaluate(&evaluation)
        try evaluation.spend(onReading: value)
        let left = value.convertedNumber ?? .notANumber
        guard arguments.count > 1 else { return left.negated.flagValue }
        let other = try arguments[1].evaluate(&evaluation)
        try evaluation.spend(onReading: other)
        return (left - (other.convertedNumber ?? .notANumber)).flagValue
    }
}

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

/// `{"/": [left, right]}`: the quotient; `{"%": [left, right]}`: the remainder, with the sign of the left side. Without
/// a right side both are NaN.
struct DivideOperator: RuleOperator {
    static let names = ["/", "%"]

    private let arguments: [Rule]
    private let isRemainder: Bool

    init(_ call: RuleCall) {
        arguments = call.arguments
        isRemainder = call.name == "%"
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        guard arguments.count > 1 else { return JavaScriptNumber.notANumber.flagValue }
        let dividend = try arguments[0].evaluate(&evaluation)
        let divisor = try arguments[1].evaluate(&evaluation)
        try evaluation.spend(onReading: dividend)
        try evaluation.spend(onReading: divisor)
        let left = dividend.convertedNumber ?? .notANumber
        let right = divisor.convertedNumber ?? .notANumber
        return (isRemainder ? left % right : left / right).flagValue
    }
}
