import Foundation
import HabitStore

/// An expression of the whole predicate language, well typed, as a tree that can be printed, shrunk, and made into a
/// filter or into a Foundation predicate.
indirect enum FuzzExpression: Hashable, Sendable {
    /// A constant, texts in the form in which they were made up.
    case constant(Value, FuzzType)
    /// A variable; 0 is the record asked for.
    case variable(Int, FuzzType)
    /// An attribute of a record.
    case attribute(FuzzExpression, FuzzProperty, FuzzType)
    /// A to-one relationship of a record, optional, or a to-many one.
    case relationship(FuzzExpression, FuzzProperty, FuzzType)
    /// An operation on operands.
    case operation(FuzzOperation, [FuzzExpression], FuzzType)
    /// An operation that binds a variable: to what is in an optional, or to each of some elements.
    case binding(FuzzBinding, variable: Int, FuzzExpression, FuzzExpression, FuzzType)

    /// What it gives.
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
    /// What it is about; its source needs a schema, see ``FuzzSource``.
    var description: String { "an expression of \(size) nodes" }
}

/// An attribute or a relationship of an entity, by its position.
struct FuzzProperty: Hashable, Sendable {
    let entity: Int
    let position: Int
}

/// The operations that bind a variable.
enum FuzzBinding: Hashable, Sendable {
    /// The second operand, in which the variable is what the first one wraps; nil when that is nil.
    case flatMap
    /// Whether one element fulfils the second operand.
    case some
    /// Whether all do.
    case every
    /// The elements that do.
    case filter
}

/// The operations that bind nothing.
enum FuzzOperation: Hashable, Sendable {
    case and, or, not, conditional, coalesce, forcedUnwrap
    /// A comparison of two values of one type.
    case compare(FilterExpression.Comparison)
    /// An order comparison as filters have it: of any kind, false with nil. No predicate has it.
    case order(FilterExpression.Comparison)
    case arithmetic(FilterExpression.Arithmetic)
    case negate
    /// A value, a lower and an upper bound; the range is captured, or made in the predicate.
    case inRange(isClosed: Bool, isCaptured: Bool)
    /// A value and a bound.
    case inPartialRange(FuzzPartialRange)
    /// Membership in captured constants.
    case isIn([Value], isSet: Bool)
    case text(FilterExpression.TextTest)
    /// Whether two texts are, or are not, in an order in which letter case does not matter.
    case caseOrder(ComparisonResult, isNegated: Bool)
    /// Whether a list begins with another, or has it in it.
    case listBegins, listHasPart
    case matches(FuzzRegex)
    case length, isEmpty
    case first, last, least, greatest
    /// Whether a list has an element.
    case hasElement
    /// The element of a list at an index.
    case element
    /// A captured dictionary's value for a text, and the second operand where it has none, if there is a second.
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

/// Some regular expressions.
enum FuzzRegex: String, Hashable, Sendable, CaseIterable {
    case letter = "[a-z]"
    case beginsWithR = "^[rR]"
    case digits = "[0-9]+"
    case ends = "n$"
    case nothing = "(?!)"
    case anything = ".*"
}
