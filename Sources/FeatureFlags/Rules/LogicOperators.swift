/// `{"if": [condition, then, condition, then, …, else]}`, also called `?:`: the value after the first condition that is
/// true. Without one it is the last value, where the count is odd, and null, where it is even.
struct IfOperator: RuleOperator {
    static let names = ["if", "?:"]

    private let branches: [(condition: Rule, value: Rule)]
    private let otherwise: Rule

    init(_ call: RuleCall) {
        let arguments = call.arguments
        branches = stride(from: 0, to: arguments.count - 1, by: 2).map { (arguments[$0], arguments[$0 + 1]) }
        otherwise = arguments.count % 2 == 1 ? arguments[arguments.count - 1] : .literal(.null)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        for (condition, value) in branches where try condition.evaluate(&evaluation).isTruthy {
            return try value.evaluate(&evaluation)
        }
        return try otherwise.evaluate(&evaluation)
    }
}

/// `{"and": […]}`: the first value that is false, or the last one. What follows it is not evaluated.
struct AndOperator: RuleOperator {
    static let names = ["and"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var value = FlagValue.null
        for argument in arguments {
            value = try argument.evaluate(&evaluation)
            if !value.isTruthy { break }
        }
        return value
    }
}

/// `{"or": […]}`: the first value that is true, or the last one. What follows it is not evaluated.
struct OrOperator: RuleOperator {
    static let names = ["or"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var value = FlagValue.null
        for argument in arguments {
            value = try argument.evaluate(&evaluation)
            if value.isTruthy { break }
        }
        return value
    }
}

/// `{"!": value}`: whether the value is false.
struct NotOperator: RuleOperator {
    static let names = ["!"]

    private let argument: Rule

    init(_ call: RuleCall) { argument = call.arguments.first ?? .literal(.null) }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        .bool(!(try argument.evaluate(&evaluation).isTruthy))
    }
}

/// `{"!!": value}`: whether the value is true.
struct DoubleNotOperator: RuleOperator {
    static let names = ["!!"]

    private let argument: Rule

    init(_ call: RuleCall) { argument = call.arguments.first ?? .literal(.null) }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        .bool(try argument.evaluate(&evaluation).isTruthy)
    }
}

/// `{"==": [left, right]}`, `{"!=": [left, right]}`: JavaScript's loose equality, and its opposite. A missing side is equal
/// to null.
struct EqualOperator: RuleOperator {
    static let names = ["==", "!="]

    private let left: Rule
    private let right: Rule
    private let isNegated: Bool

    init(_ call: RuleCall) {
        left = call.arguments.first ?? .literal(.null)
        right = call.arguments.count > 1 ? call.arguments[1] : .literal(.null)
        isNegated = call.name == "!="
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let left = try left.evaluate(&evaluation)
        let right = try right.evaluate(&evaluation)
        try evaluation.spend(onReading: left)
        try evaluation.spend(onReading: right)
        return .bool(left.isLooselyEqual(to: right) != isNegated)
    }
}

/// `{"===": [left, right]}`, `{"!==": [left, right]}`: JavaScript's strict equality, which takes no `1` for `"1"`, and its
/// opposite. A missing side is JavaScript's `undefined`: equal to another missing side, and to nothing else.
struct StrictEqualOperator: RuleOperator {
    static let names = ["===", "!=="]

    private let arguments: [Rule]
    private let isNegated: Bool

    init(_ call: RuleCall) {
        arguments = call.arguments
        isNegated = call.name == "!=="
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        .bool(try areEqual(&evaluation) != isNegated)
    }

    private func areEqual(_ evaluation: inout Evaluation) throws(EvaluationFault) -> Bool {
        guard arguments.count > 1 else { return arguments.isEmpty }
        let left = try arguments[0].evaluate(&evaluation)
        return left.isStrictlyEqual(to: try arguments[1].evaluate(&evaluation))
    }
}

/// `{"var": "path"}`, `{"var": ["path", default]}`: a value from the context.
///
/// A path that leads nowhere gives the default, or null. A null at its end is a value, and is returned.
struct VariableOperator: RuleOperator {
    static let names = ["var"]

    private enum Path {
        case fixed(VariablePath)
        case computed(Rule)
    }

    private let path: Path
    private let defaultRule: Rule

    init(_ call: RuleCall) {
        switch call.arguments.first {
        case .none: path = .fixed(VariablePath(""))
        case .literal(let value): path = .fixed(VariablePath(value))
        case .some(let rule): path = .computed(rule)
        }
        defaultRule = call.arguments.count > 1 ? call.arguments[1] : .literal(.null)
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let found: FlagValue?
        switch path {
        case .fixed(let path):
            found = try evaluation.value(at: path)
        case .computed(let rule):
            let value = try rule.evaluate(&evaluation)
            try evaluation.spend(onReading: value)
            found = try evaluation.value(at: VariablePath(value))
        }
        if let found { return found }
        return try defaultRule.evaluate(&evaluation)
    }
}

/// `{"missing": ["a", "b.c"]}`: those of the paths that lead to nothing, to null or to the empty text. A list as the
/// first argument is taken for the list of the paths, so that it can be computed.
struct MissingOperator: RuleOperator {
    static let names = ["missing"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var keys = try arguments.values(&evaluation)
        if case .list(let first) = keys.first { keys = first }
        return .list(try Self.missing(keys, &evaluation))
    }

    static func missing(_ keys: [FlagValue], _ evaluation: inout Evaluation) throws(EvaluationFault) -> [FlagValue] {
        try evaluation.spend(keys.count)
        var missing: [FlagValue] = []
        for key in keys {
            try evaluation.spend(onReading: key)
            switch try evaluation.value(at: VariablePath(key)) {
            case .none, .null: missing.append(key)
            case .string(let text) where text.isEmpty: missing.append(key)
            default: break
            }
        }
        return missing
    }
}

/// `{"missing_some": [count, ["a", "b", "c"]]}`: the empty list if at least so many of the paths are there, else the
/// paths that are missing, as of ``MissingOperator``.
struct MissingSomeOperator: RuleOperator {
    static let names = ["missing_some"]

    private let arguments: [Rule]

    init(_ call: RuleCall) { arguments = call.arguments }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let needed = try arguments.value(at: 0, &evaluation)
        let options = try arguments.value(at: 1, &evaluation)
        try evaluation.spend(onReading: needed)
        let keys: [FlagValue] = if case .list(let elements) = options { elements } else { [options] }
        let missing = try MissingOperator.missing(keys, &evaluation)
        let present = FlagValue.int(Int64(keys.count - missing.count))
        return needed.isLess(than: present, orEqual: true) ? [] : .list(missing)
    }
}

/// `{"log": value}`: the value, unchanged. It may contain parts of the context, so it is not logged; the explanation of an evaluation shows it.
struct LogOperator: RuleOperator {
    static let names = ["log"]

    private let argument: Rule

    init(_ call: RuleCall) { argument = call.arguments.first ?? .literal(.null) }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        try argument.evaluate(&evaluation)
    }
}
