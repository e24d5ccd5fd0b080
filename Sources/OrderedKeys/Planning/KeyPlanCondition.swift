@_spi(Engines) import HabitStore

/// One of the conditions that must all hold, as the planner looks at it.
struct KeyPlanCondition {
    /// As the filter has it; what is left of the filter is made of these.
    let original: BoundExpression
    /// As indexes are asked for it.
    var expression: BoundExpression { didSet { subject = Self.subject(expression) } }
    /// The attribute that it is about; nil when its form has to be looked at for each attribute.
    private(set) var subject: Int?
    /// What led to the identifiers that stand for it, for people; nil for a condition of the filter's own.
    private(set) var source: String?

    init(_ condition: BoundExpression) {
        original = condition
        expression = condition
        subject = Self.subject(condition)
    }

    /// Asks indexes for another condition that holds for the same records.
    ///
    /// - Parameter source: what led to it.
    mutating func replace(by condition: BoundExpression, from source: String) {
        expression = condition
        self.source = source
    }

    /// The attribute that it fixes for all results.
    var constant: Int? {
        guard subject != nil, let comparison = expression.rootComparison, comparison.comparison == .equal else {
            return nil
        }
        return comparison.position
    }

    /// Whether it bounds an attribute by a value on one side, and so never fixes it.
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
