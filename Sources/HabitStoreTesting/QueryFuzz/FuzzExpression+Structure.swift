import HabitStore

extension FuzzExpression {
    var children: [FuzzExpression] {
        switch self {
        case .constant, .variable: return []
        case .attribute(let base, _, _), .relationship(let base, _, _): return [base]
        case .operation(_, let operands, _): return operands
        case .binding(_, _, let source, let body, _): return [source, body]
        }
    }

    /// The same expression with other operands of the same number and types.
    func replacing(_ children: [FuzzExpression]) -> FuzzExpression {
        switch self {
        case .constant, .variable: return self
        case .attribute(_, let property, let type): return .attribute(children[0], property, type)
        case .relationship(_, let property, let type): return .relationship(children[0], property, type)
        case .operation(let operation, _, let type): return .operation(operation, children, type)
        case .binding(let binding, let variable, _, _, let type):
            return .binding(binding, variable: variable, children[0], children[1], type)
        }
    }

    /// The number of nodes.
    var size: Int { children.reduce(1) { $0 + $1.size } }

    /// Whether a node fulfils a condition.
    func contains(_ condition: (FuzzExpression) -> Bool) -> Bool {
        condition(self) || children.contains { $0.contains(condition) }
    }

    /// The variables that it uses but does not bind.
    var freeVariables: Set<Int> {
        switch self {
        case .variable(let variable, _): return [variable]
        case .binding(_, let variable, let source, let body, _):
            return source.freeVariables.union(body.freeVariables.subtracting([variable]))
        default: return children.reduce(into: []) { $0.formUnion($1.freeVariables) }
        }
    }

    /// Whether a Foundation predicate can express it.
    var isPredicate: Bool {
        !contains { node in
            switch node {
            case .operation(.order, _, _), .operation(.text(.endsWith), _, _): return true
            case .operation(.arithmetic(.remainder), _, let type): return type.wrapped == .double
            default: return false
            }
        }
    }

    /// Whether its evaluation may fail.
    var mayFail: Bool {
        contains { node in
            switch node {
            case .operation(.arithmetic, _, let type), .operation(.negate, _, let type): return type.wrapped == .int
            case .operation(.forcedUnwrap, _, _), .operation(.element, _, _), .operation(.forceCast, _, _),
                .operation(.inRange(_, isCaptured: false), _, _):
                return true
            default: return false
            }
        }
    }

    /// The same expression with all constants as filters store them, with text in NFC. A constant without such a form stays unchanged.
    var normalized: FuzzExpression {
        switch self {
        case .constant(let value, let type): return .constant(Self.normalized(value), type)
        case .operation(.isIn(let values, let isSet), let operands, let type):
            return .operation(.isIn(values.map(Self.normalized), isSet: isSet), operands.map(\.normalized), type)
        default: return replacing(children.map(\.normalized))
        }
    }

    private static func normalized(_ value: Value) -> Value { (try? value.normalized()) ?? value }
}
