import Foundation

/// A node of a predicate whose type is known at run time only.
class FuzzNode {
    /// The node, in a box that is not generic.
    init() {}
}

/// A node whose output is known.
final class FuzzTypedNode<Output>: FuzzNode {
    let expression: any StandardPredicateExpression<Output>

    init(_ expression: any StandardPredicateExpression<Output>) { self.expression = expression }
}

/// An expression is not typed as the fuzzer promises: a fault of the generator or of the shrinker.
struct FuzzTypeMismatch: Error, CustomStringConvertible {
    let wanted: String
    let found: String

    var description: String { "a random expression of the type \(found) stands where one of \(wanted) is needed" }
}

extension FuzzNode {
    /// The expression, as one of a type.
    func typed<Output>(_ type: Output.Type = Output.self) throws -> any StandardPredicateExpression<Output> {
        guard let node = self as? FuzzTypedNode<Output> else {
            throw FuzzTypeMismatch(wanted: "\(Output.self)", found: "\(Swift.type(of: self))")
        }
        return node.expression
    }
}
