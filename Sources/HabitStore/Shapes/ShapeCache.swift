import Foundation
import Synchronization

/// The shapes of the predicates that a schema's stores were queried with, by the types of their expressions.
///
/// An app repeats the same few queries with different constants. The result of lowering and binding a predicate depends on its
/// type, its key paths and its operators, and on constants only in ways that ``ShapeLayout`` rules out. Each new shape is checked
/// against a full lowering with constants that mark their places, with zeros and empty texts, and with the constants of its first
/// query.
final class ShapeCache: Sendable {
    /// More types than this are not kept, so that predicates put together at run time cannot fill the memory.
    private static let mostTypes = 512
    /// Predicates of one type that differ in key paths or operators.
    private static let mostOfOneType = 8

    struct Kind: Sendable {
        /// Nil when expressions of this type have no shape.
        let layout: ShapeLayout?
        var shapes: [PredicateShape] = []
        /// How often an expression of this type had none after all.
        var failures = 0

        var isFull: Bool { shapes.count + failures >= ShapeCache.mostOfOneType }
    }

    let kinds = Mutex<[ObjectIdentifier: Kind]>([:])

    func learn<Expression: PredicateExpression>(_ type: Expression.Type, _ key: ObjectIdentifier) -> Kind {
        let kind = Kind(layout: ShapeLayout(type))
        return kinds.withLock { kinds in
            if let known = kinds[key] { return known }
            if kinds.count < Self.mostTypes { kinds[key] = kind }
            return kind
        }
    }

    func keep(_ shape: PredicateShape?, _ type: ObjectIdentifier) {
        kinds.withLock { kinds in
            guard var kind = kinds[type], !kind.isFull else { return }
            if let shape { kind.shapes.append(shape) } else { kind.failures += 1 }
            kinds[type] = kind
        }
    }
}
