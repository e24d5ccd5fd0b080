import Foundation
import HabitStore

/// A well-typed expression of the whole predicate language, as a tree that can be printed, shrunk, and made into a filter or a Foundation predicate.
indirect enum FuzzExpression: Hashable, Sendable {
    /// A constant; texts keep their original form.
    case constant(Value, FuzzType)
    /// A variable; 0 is the queried record.
    case variable(Int, FuzzType)
    case attribute(FuzzExpression, FuzzProperty, FuzzType)
    /// A to-one relationship of a record, optional, or a to-many one.
    case relationship(FuzzExpression, FuzzProperty, FuzzType)
    case operation(FuzzOperation, [FuzzExpression], FuzzType)
    /// An operation that binds a variable: to an optional's value, or to each of several elements.
    case binding(FuzzBinding, variable: Int, FuzzExpression, FuzzExpression, FuzzType)

    /// The type of its value.
    var type: FuzzType {
        switch self {
        case .constant(_, let type), .variable(_, let type), .attribute(_, _, let type), .relationship(_, _, let type),
            .operation(_, _, let type), .binding(_, _, _, _, let type):
            return type
        }
    }

    static let yes = FuzzExpression.constant(.bool(true), .bool)
    static let no = FuzzExpression.constant(.bool(false), .bool)
}

extension FuzzExpression: CustomStringConvertible {
    /// A short description; ``FuzzSource`` writes the source, which needs a schema.
    var description: String { "an expression of \(size) nodes" }
}

/// An attribute or a relationship of an entity, by its position.
struct FuzzProperty: Hashable, Sendable {
    let entity: Int
    let position: Int
}

/// The operations that bind a variable.
enum FuzzBinding: Hashable, Sendable {
    /// The second operand, in which the variable is the value that the first one wraps; nil if the first one is nil.
    case flatMap
    /// Whether at least one element fulfils the second operand.
    case some
    /// Whether all elements do.
    case every
    /// The elements that do.
    case filter
}

/// The operations that bind no variable.
enum FuzzOperation: Hashable, Sendable {
    case and, or, not, conditional, coalesce, forcedUnwrap
    /// A comparison of two values of one type.
    case compare(FilterExpression.Comparison)
    /// An order comparison of filters: of any kind, false with nil. Predicates have none like it.
    case order(FilterExpression.Comparison)
    case arithmetic(FilterExpression.Arithmetic)
    case negate
    /// A value, a lower and an upper bound; the range is captured, or the predicate makes it.
    case inRange(isClosed: Bool, isCaptured: Bool)
    /// A value and a bound.
    case inPartialRange(FuzzPartialRange)
    /// Membership in captured constants.
    case isIn([Value], isSet: Bool)
    case text(FilterExpression.TextTest)
    /// Whether two texts are, or are not, in an order that ignores letter case.
    case caseOrder(ComparisonResult, isNegated: Bool)
    /// Whether a list begins with another one, or contains it.
    case listBegins, listHasPart
    case matches(FuzzRegex)
    case length, isEmpty
    case first, last, least, greatest
    /// Whether a list contains an element.
    case hasElement
    /// The element of a list at an index.
    case element
    /// A captured dictionary's value for a text; if it has none, the second operand, if there is one.
    case lookup([String: Int])
    case rawValue
    case typeCheck(FuzzType)
    case conditionalCast(FuzzType)
    case forceCast(FuzzType)
}

/// Ranges with one bound.
enum FuzzPartialRange: String, Hashable, Sendable {
    case from, through, upTo
}

enum FuzzRegex: String, Hashable, Sendable, CaseIterable {
    case letter = "[a-z]"
    case beginsWithR = "^[rR]"
    case digits = "[0-9]+"
    case ends = "n$"
    case nothing = "(?!)"
    case anything = ".*"
}
