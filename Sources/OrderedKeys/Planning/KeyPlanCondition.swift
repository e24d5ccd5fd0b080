@_spi(Engines) import HabitStore

/// One part of a conjunction, in the planner's form.
struct KeyPlanCondition {
    /// The condition in the filter; the rest of the filter consists of these.
    let original: BoundExpression
    /// The condition that indexes are asked for.
    var expression: BoundExpression { didSet { subject = Self.subject(expression) } }
    /// The attribute of the condition; nil if its form must be examined for each attribute.
    private(set) var subject: Int?
    /// The access path that found the identifiers in its place, for descriptions; nil for a condition from the filter.
    private(set) var source: String?

    init(_ condition: BoundExpression) {
        original = condition
        expression = condition
        subject = Self.subject(condition)
    }

    /// Replaces the condition with one that holds for the same records.
    ///
    /// - Parameter source: the access path that led to it.
    mutating func replace(by condition: BoundExpression, from source: String) {
        expression = condition
        self.source = source
    }

    /// The attribute that it makes constant in all results.
    var constant: Int? {
        guard subject != nil, let comparison = expression.rootComparison, comparison.comparison == .equal else {
            return nil
        }
        return comparison.position
    }

    /// Whether it bounds an attribute on one side, and so never makes it constant.
    var isBound: Bool {
        guard subject != nil, let root = expression.rootComparison, !root.value.isNull else { return false }
        switch root.comparison {
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return true
        case .equal, .notEqual: return false
        }
    }

    @inline(__always)
    func mayConcern(_ position: Int) -> Bool { subject.map { $0 == position } ?? true }

    private static func subject(_ condition: BoundExpression) -> Int? {
        switch condition {
        case .compare: return condition.rootComparison?.position
        case .isIn(.attribute(let path, let position, _, _), _) where path.isRoot: return position
        default: return nil
        }
    }
}
