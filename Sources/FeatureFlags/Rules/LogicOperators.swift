/// The operators that decide.
enum LogicOperators {
    /// `{"if": [condition, then, condition, then, …, else]}`, also called `?:`: the value after the first condition that is
    /// true. Without one it is the last value, where the count is odd, and null, where it is even.
    static func condition(
        _ arguments: [Rule],
        _ evaluation: inout Evaluation
    ) throws(EvaluationFault) -> FlagValue {
        var index = 0
        while index + 1 < arguments.count {
            if try arguments[index].evaluate(&evaluation).isTruthy {
                return try arguments[index + 1].evaluate(&evaluation)
            }
            index += 2
        }
        return try arguments.value(at: index, &evaluation)
    }

    /// `{"and": […]}`, `{"or": […]}`: the first value that is false, or that is true; or else the last one. What follows it is
    /// not evaluated.
    static func first(thatIs truth: Bool) -> RuleOperator.Body {
        { (arguments, evaluation) throws(EvaluationFault) in
            var value = FlagValue.null
            for argument in arguments {
                value = try argument.evaluate(&evaluation)
                if value.isTruthy == truth { break }
            }
            return value
        }
    }

    /// `{"!": value}`, `{"!!": value}`: whether the value is false, or true.
    static func truth(is truth: Bool) -> RuleOperator.Body {
        { (arguments, evaluation) throws(EvaluationFault) in
            .bool(try arguments.value(at: 0, &evaluation).isTruthy == truth)
        }
    }

    /// `{"log": value}`: the value, unchanged. It may contain parts of the context, so it is not logged; the explanation of an
    /// evaluation shows it.
    static func log(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        try arguments.value(at: 0, &evaluation)
    }
}

/// The operators that compare two values. A missing side of `==` is equal to null; of `===` it is JavaScript's `undefined`, equal
/// to another missing side and to nothing else; of an order it is NaN.
enum ComparisonOperators {
    /// `{"==": [left, right]}`, `{"!=": [left, right]}`: JavaScript's loose equality, and its opposite.
    static func looseEquality(is isEqual: Bool) -> RuleOperator.Body {
        { (arguments, evaluation) throws(EvaluationFault) in
            let (left, right) = try arguments.pair(&evaluation)
            return .bool(left.isLooselyEqual(to: right) == isEqual)
        }
    }

    /// `{"===": [left, right]}`, `{"!==": [left, right]}`: JavaScript's strict equality, which takes no `1` for `"1"`, and its
    /// opposite.
    static func strictEquality(is isEqual: Bool) -> RuleOperator.Body {
        { (arguments, evaluation) throws(EvaluationFault) in
            guard arguments.count > 1 else { return .bool(arguments.isEmpty == isEqual) }
            let left = try arguments[0].evaluate(&evaluation)
            return .bool(left.isStrictlyEqual(to: try arguments[1].evaluate(&evaluation)) == isEqual)
        }
    }

    /// `{"<": [left, right]}`, `{"<=": [left, right]}`: JavaScript's order. With a third argument, whether the second lies
    /// between the first and the third.
    static func less(orEqual: Bool) -> RuleOperator.Body {
        { (arguments, evaluation) throws(EvaluationFault) in
            guard arguments.count > 1 else { return false }
            let (left, middle) = try arguments.pair(&evaluation)
            guard left.isLess(than: middle, orEqual: orEqual) else { return false }
            guard arguments.count > 2 else { return true }
            let right = try arguments[2].evaluate(&evaluation)
            try evaluation.spend(onReading: right)
            return .bool(middle.isLess(than: right, orEqual: orEqual))
        }
    }

    /// `{">": [left, right]}`, `{">=": [left, right]}`: JavaScript's order. There is no form with three arguments.
    static func greater(orEqual: Bool) -> RuleOperator.Body {
        { (arguments, evaluation) throws(EvaluationFault) in
            guard arguments.count > 1 else { return false }
            let (left, right) = try arguments.pair(&evaluation)
            return .bool(right.isLess(than: left, orEqual: orEqual))
        }
    }
}

/// The operators that read the context.
enum ContextOperators {
    /// `{"var": "path"}`, `{"var": ["path", default]}`: a value from the context.
    ///
    /// A path that leads nowhere gives the default, or null. A null at its end is a value, and is returned.
    static func variable(_ call: RuleCall) -> RuleOperator.Body {
        let fixed: VariablePath? =
            switch call.arguments.first {
            case nil: VariablePath("")
            case .literal(let value)?: VariablePath(value)
            case .list?, .operation?: nil
            }
        if let fixed {
            return { (arguments, evaluation) throws(EvaluationFault) in
                if let found = try evaluation.value(at: fixed) { return found }
                return try arguments.value(at: 1, &evaluation)
            }
        }
        return { (arguments, evaluation) throws(EvaluationFault) in
            let path = try arguments.value(at: 0, &evaluation)
            try evaluation.spend(onReading: path)
            if let found = try evaluation.value(at: VariablePath(path)) { return found }
            return try arguments.value(at: 1, &evaluation)
        }
    }

    /// `{"missing": ["a", "b.c"]}`: those of the paths that lead to nothing, to null or to the empty text. A list as the
    /// first argument is taken for the list of the paths, so that it can be computed.
    static func missing(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        var keys = try arguments.values(&evaluation)
        if case .list(let first) = keys.first { keys = first }
        return .list(try missing(keys, &evaluation))
    }

    /// `{"missing_some": [count, ["a", "b", "c"]]}`: the empty list if at least so many of the paths are there, else the
    /// paths that are missing, as of `missing`.
    static func missingSome(_ arguments: [Rule], _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let needed = try arguments.value(at: 0, &evaluation)
        let options = try arguments.value(at: 1, &evaluation)
        try evaluation.spend(onReading: needed)
        let keys: [FlagValue] = if case .list(let elements) = options { elements } else { [options] }
        let missing = try missing(keys, &evaluation)
        let present = FlagValue.int(Int64(keys.count - missing.count))
        return needed.isLess(than: present, orEqual: true) ? [] : .list(missing)
    }

    private static func missing(
        _ keys: [FlagValue],
        _ evaluation: inout Evaluation
    ) throws(EvaluationFault) -> [FlagValue] {
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
