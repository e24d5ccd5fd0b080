import Foundation

/// A filter as far as it can be lowered: an expression that every result fulfils.
struct LoweredFilter {
    /// What every result fulfils, and all that engines know.
    var expression: FilterExpression
    /// Whether the expression says everything; otherwise the filter itself is evaluated for every candidate, too.
    var isWhole: Bool

    private static let nothing = LoweredFilter(expression: .always, isWhole: false)

    private init(expression: FilterExpression, isWhole: Bool) {
        self.expression = expression
        self.isWhole = isWhole
    }

    /// - Parameter evaluatesPredicates: whether no predicate is lowered.
    init<Model: PersistentModel>(_ filter: Filter<Model>, schema: Schema, evaluatesPredicates: Bool) {
        func lower(_ part: Filter<Model>) -> LoweredFilter {
            LoweredFilter(part, schema: schema, evaluatesPredicates: evaluatesPredicates)
        }
        switch filter {
        case .expression(let expression): self.init(expression: expression, isWhole: true)
        case .predicate(let predicate):
            self = evaluatesPredicates ? .nothing : PredicateLowering.lower(predicate, schema: schema)
        case .not(let part):
            let part = lower(part)
            self = part.isWhole ? LoweredFilter(expression: .not(part.expression), isWhole: true) : .nothing
        case .all(let parts):
            self = .whole(.always)
            for part in parts {
                append(lower(part))
                // A later part must not hide the failure of one that may fail.
                if !isWhole, part.mayFail { return }
            }
        case .any(let parts):
            let lowered = parts.map(lower)
            self =
                lowered.allSatisfy(\.isWhole)
                ? LoweredFilter(expression: .any(lowered.map(\.expression)), isWhole: true) : .nothing
        }
    }

    /// Lowers the terms of a conjunction as far as that goes.
    init(terms expression: any PredicateExpression, _ lower: (any PredicateExpression) -> FilterExpression?) {
        if let whole = lower(expression) {
            self.init(expression: whole, isWhole: true)
            return
        }
        guard let conjunction = expression as? any ConjunctionTerms else {
            self = .nothing
            return
        }
        let (first, second) = conjunction.terms
        self.init(terms: first, lower)
        if isWhole || EvaluationHazard.of(first) == .none { append(LoweredFilter(terms: second, lower)) }
        isWhole = false
    }

    private static func whole(_ expression: FilterExpression) -> LoweredFilter {
        LoweredFilter(expression: expression, isWhole: true)
    }

    /// Adds a later term. After a term that is left out of the expression and may be false, nothing that can fail is added, because
    /// Swift may not reach it.
    private mutating func append(_ other: LoweredFilter) {
        if isWhole || !other.expression.calculates { expression = .all([expression, other.expression]) }
        isWhole = isWhole && other.isWhole
    }
}

/// The two sides of an `&&`, whatever their types.
protocol ConjunctionTerms {
    var terms: (any PredicateExpression, any PredicateExpression) { get }
}

extension PredicateExpressions.Conjunction: ConjunctionTerms {
    var terms: (any PredicateExpression, any PredicateExpression) { (lhs, rhs) }
}

extension Filter {
    /// Whether evaluating it may fail.
    var mayFail: Bool {
        switch self {
        case .expression(let expression): expression.calculates
        case .predicate(let predicate): EvaluationHazard.of(predicate.expression) != .none
        case .not(let part): part.mayFail
        case .all(let parts), .any(let parts): parts.contains(where: \.mayFail)
        }
    }
}
