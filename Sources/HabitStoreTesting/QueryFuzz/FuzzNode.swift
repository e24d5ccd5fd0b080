import Foundation

/// A predicate's node whose type is known only at run time.
class FuzzNode {
    init() {}
}

/// A node with a known output type.
final class FuzzTypedNode<Output>: FuzzNode {
    let expression: any StandardPredicateExpression<Output>

    init(_ expression: any StandardPredicateExpression<Output>) { self.expression = expression }
}

/// An expression does not have the promised type: a bug in the generator or the shrinker.
struct FuzzTypeMismatch: Error, CustomStringConvertible {
    let wanted: String
    let found: String

    var description: String { "a random expression has the type \(found) where \(wanted) is needed" }
}

extension FuzzNode {
    /// The expression, cast to a type.
    func typed<Output>(_ type: Output.Type = Output.self) throws -> any StandardPredicateExpression<Output> {
        guard let node = self as? FuzzTypedNode<Output> else {
            throw FuzzTypeMismatch(wanted: "\(Output.self)", found: "\(Swift.type(of: self))")
        }
        return node.expression
    }
}
