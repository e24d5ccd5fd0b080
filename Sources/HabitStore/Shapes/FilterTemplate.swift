/// A bound expression with places for constants.
indirect enum FilterTemplate: Sendable {
    /// Without a place for a constant.
    case fixed(BoundExpression)
    /// A constant, by its number.
    case constant(Int)
    case not(FilterTemplate)
    case and([FilterTemplate])
    case or([FilterTemplate])
    case compare(FilterExpression.Comparison, FilterTemplate, FilterTemplate)
    case coalesce(FilterTemplate, FilterTemplate)

    /// Finds the places in an expression that was made from constants none of which it would hold otherwise; nil when one of
    /// them stands inside of something that has no places.
    init?(_ expression: BoundExpression, of marks: [Value]) {
        func template(_ part: BoundExpression) -> FilterTemplate? { FilterTemplate(part, of: marks) }
        func all(_ parts: [BoundExpression]) -> [FilterTemplate]? {
            let templates = parts.compactMap(template)
            return templates.count == parts.count ? templates : nil
        }
        switch expression {
        case .literal(let value): self = marks.firstIndex(of: value).map { .constant($0) } ?? .fixed(expression)
        case .attribute, .exists, .count(_, .literal(.bool(true))), .length(.attribute): self = .fixed(expression)
        case .not(let inner):
            guard let inner = template(inner) else { return nil }
            self = .not(inner)
        case .and(let parts):
            guard let parts = all(parts) else { return nil }
            self = .and(parts)
        case .or(let parts):
            guard let parts = all(parts) else { return nil }
            self = .or(parts)
        case .compare(let comparison, let left, let right):
            guard let left = template(left), let right = template(right) else { return nil }
            self = .compare(comparison, left, right)
        case .coalesce(let first, let second):
            guard let first = template(first), let second = template(second) else { return nil }
            self = .coalesce(first, second)
        default: return nil
        }
    }

    /// The expression with these constants.
    func filled(_ values: [Value]) -> BoundExpression {
        switch self {
        case .fixed(let expression): return expression
        case .constant(let number): return .literal(values[number])
        case .not(let inner): return .not(inner.filled(values))
        case .and(let parts): return .and(parts.map { $0.filled(values) })
        case .or(let parts): return .or(parts.map { $0.filled(values) })
        case .compare(let comparison, let left, let right):
            return .compare(comparison, left.filled(values), right.filled(values))
        case .coalesce(let first, let second): return .coalesce(first.filled(values), second.filled(values))
        }
    }

    /// Whether no constant has a place in it.
    var isFixed: Bool {
        switch self {
        case .fixed: return true
        case .constant: return false
        case .not(let inner): return inner.isFixed
        case .and(let parts), .or(let parts): return parts.allSatisfy(\.isFixed)
        case .compare(_, let first, let second), .coalesce(let first, let second):
            return first.isFixed && second.isFixed
        }
    }
}
