import Foundation
import HabitStore

extension FuzzPredicateMaker {
    /// The body of a binding. Its type must be known before its variable exists, so it is always erased.
    private func body<V, R>(
        _ body: FuzzExpression,
        _ scope: Scope,
        _ variable: Int,
        _ node: PredicateExpressions.Variable<V>,
        _ failure: inout (any Error)?
    ) -> Erased<R> {
        var scope = scope
        scope[variable] = FuzzTypedNode<V>(node)
        do {
            let expression: any StandardPredicateExpression<R> = try self.node(body, scope).typed()
            return expression as? Erased<R> ?? Erased(expression)
        } catch {
            failure = error
            return Erased(FuzzComputation { _ in throw FuzzTrap() })
        }
    }

    func flatMap<W: FuzzOutput, R: FuzzOutput>(
        _ variable: Int,
        _ source: FuzzExpression,
        _ body: FuzzExpression,
        _ scope: Scope,
        _ wrapped: W.Type,
        _ result: R.Type
    ) throws -> FuzzNode {
        let source = try node(source, scope).typed(W?.self)
        var failure: (any Error)?
        func make<L: StandardPredicateExpression>(_ source: L) -> FuzzNode where L.Output == W? {
            if body.type.isOptional {
                return take(
                    PredicateExpressions.OptionalFlatMap<L, W, Erased<R?>, R>(source) {
                        self.body(body, scope, variable, $0, &failure)
                    }
                )
            }
            return take(
                PredicateExpressions.OptionalFlatMap<L, W, Erased<R>, R>(source) {
                    self.body(body, scope, variable, $0, &failure)
                }
            )
        }
        let node = make(source)
        if let failure { throw failure }
        return node
    }

    func elements<E: FuzzOutput>(
        _ binding: FuzzBinding,
        _ variable: Int,
        _ source: FuzzNode,
        _ body: FuzzExpression,
        _ scope: Scope,
        _ element: E.Type
    ) throws -> FuzzNode {
        var failure: (any Error)?
        func make<L: StandardPredicateExpression>(_ source: L) -> FuzzNode where L.Output == [E] {
            let test = { (node: PredicateExpressions.Variable<E>) -> Erased<Bool> in
                self.body(body, scope, variable, node, &failure)
            }
            switch binding {
            case .every:
                return take(PredicateExpressions.SequenceAllSatisfy<L, Erased<Bool>>(source, builder: test))
            case .filter: return take(PredicateExpressions.Filter<L, Erased<Bool>>(source, test))
            case .some, .flatMap:
                return take(PredicateExpressions.SequenceContainsWhere<L, Erased<Bool>>(source, builder: test))
            }
        }
        let node = make(try source.typed([E].self))
        if let failure { throw failure }
        return node
    }
}
