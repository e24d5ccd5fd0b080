import HabitStore

extension FilterExpression {
    /// The text form with `?` for each literal except booleans and nil; empty without a condition.
    var withoutLiterals: String {
        guard self != .always else { return "" }
        // A string is written in quotation marks, which occur nowhere else in the text form.
        return replacingLiterals { value in
            switch value {
            case .null, .bool: value
            default: .string("?")
            }
        }.description.replacing("\"?\"", with: "?")
    }

    /// The expression with other literals. Drops values of a list that become equal.
    func replacingLiterals(_ replace: (Value) -> Value) -> FilterExpression {
        func inner(_ expression: FilterExpression) -> FilterExpression { expression.replacingLiterals(replace) }
        switch self {
        case .literal(let value): return .literal(replace(value))
        case .attribute, .exists: return self
        case .not(let part): return .not(inner(part))
        case .and(let parts): return .and(parts.map(inner))
        case .or(let parts): return .or(parts.map(inner))
        case .compare(let comparison, let left, let right): return .compare(comparison, inner(left), inner(right))
        case .isIn(let part, let values):
            var replaced: [Value] = []
            for value in values.map(replace) where !replaced.contains(value) { replaced.append(value) }
            return .isIn(inner(part), replaced)
        case .text(let test, let text, let part): return .text(test, inner(text), inner(part))
        case .some(let path, let variable, let condition): return .some(path, variable: variable, inner(condition))
        case .every(let path, let variable, let condition): return .every(path, variable: variable, inner(condition))
        case .count(let path, let variable, let condition): return .count(path, variable: variable, inner(condition))
        case .length(let part): return .length(inner(part))
        case .coalesce(let first, let second): return .coalesce(inner(first), inner(second))
        case .conditional(let test, let first, let second):
            return .conditional(inner(test), inner(first), inner(second))
        case .least(let part): return .least(inner(part))
        case .greatest(let part): return .greatest(inner(part))
        case .caseInsensitiveOrder(let left, let right): return .caseInsensitiveOrder(inner(left), inner(right))
        case .arithmetic(let operation, let left, let right): return .arithmetic(operation, inner(left), inner(right))
        }
    }
}
