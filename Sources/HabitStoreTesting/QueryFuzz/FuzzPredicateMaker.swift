import Foundation
import HabitStore

/// The requirements on every expression's Swift type.
typealias FuzzOutput = Codable & Equatable & Sendable

/// Makes Foundation predicates from expressions at run time, with the nodes that `#Predicate` uses.
struct FuzzPredicateMaker {
    let schema: Schema
    /// Whether nodes erase their types.
    let erases: Bool
    /// Whether nodes throw if evaluating them would end the process.
    let isGuarded: Bool

    /// The nodes of variables.
    typealias Scope = [Int: FuzzNode]

    /// The predicate of a condition.
    ///
    /// - Throws: ``FuzzTypeMismatch`` if the expression is not well typed.
    func predicate<M: PersistentModel>(_ condition: FuzzExpression, _ model: M.Type) throws -> Predicate<M> {
        var failure: (any Error)?
        let predicate = Predicate<M> { root in
            do {
                return try self.root(condition, [0: FuzzTypedNode<M>(root)]).typed(Bool.self)
            } catch {
                failure = error
                return PredicateExpressions.Value(false)
            }
        }
        if let failure { throw failure }
        return predicate
    }

    /// The node of the whole condition. The `&&` at the top stays visible, since stores look for its terms.
    private func root(_ condition: FuzzExpression, _ scope: Scope) throws -> FuzzNode {
        guard erases, case .operation(.and, let operands, _) = condition else { return try node(condition, scope) }
        var nodes = try operands.map { Erased(try node($0, scope).typed(Bool.self)) }[...]
        guard let first = nodes.popFirst(), let second = nodes.popFirst() else { return try node(condition, scope) }
        let pair = PredicateExpressions.Conjunction(lhs: first, rhs: second)
        guard let third = nodes.popFirst() else { return FuzzTypedNode<Bool>(pair) }
        return FuzzTypedNode<Bool>(PredicateExpressions.Conjunction(lhs: pair, rhs: third))
    }

    func node(_ expression: FuzzExpression, _ scope: Scope) throws -> FuzzNode {
        switch expression {
        case .constant(let value, let type): return try constant(value, type)
        case .variable(let variable, _):
            guard let node = scope[variable] else { throw FuzzTypeMismatch(wanted: "a variable", found: "none") }
            return node
        case .attribute(let base, let property, let type):
            let attribute = schema.entities[property.entity].attributes[property.position]
            return try member(attribute.keyPath, try node(base, scope), base.type, type)
        case .relationship(let base, let property, let type):
            let relationship = schema.entities[property.entity].relationships[property.position]
            return try member(relationship.keyPath, try node(base, scope), base.type, type)
        case .operation(let operation, let operands, let type):
            return try self.operation(operation, operands, type, scope)
        case .binding(.flatMap, let variable, let source, let body, _):
            return try flatMap(
                variable,
                source,
                body,
                scope,
                try output(source.type.wrapped),
                try output(body.type.wrapped)
            )
        case .binding(let binding, let variable, let source, let body, _):
            guard let element = source.type.element else {
                throw FuzzTypeMismatch(wanted: "a list", found: "\(source)")
            }
            return try elements(binding, variable, try node(source, scope), body, scope, try output(element))
        }
    }

    // MARK: Types

    /// The Swift type.
    func output(_ type: FuzzType) throws -> any FuzzOutput.Type {
        let base: any FuzzOutput.Type
        switch type.shape {
        case .value(let scalar): base = scalar.type
        case .record(let entity): base = schema.entities[entity].modelType
        case .records(let entity): base = list(schema.entities[entity].modelType)
        }
        return type.isOptional ? optional(base) : base
    }

    private func list<T: FuzzOutput>(_ type: T.Type) -> any FuzzOutput.Type { [T].self }

    private func optional<T: FuzzOutput>(_ type: T.Type) -> any FuzzOutput.Type { T?.self }

    /// The Swift type of ordered values.
    func comparable(_ type: FuzzType) throws -> any (FuzzOutput & Comparable).Type {
        guard let comparable = try output(type) as? any (FuzzOutput & Comparable).Type else {
            throw FuzzTypeMismatch(wanted: "an ordered type", found: "\(type)")
        }
        return comparable
    }

    // MARK: Nodes

    /// Wraps a node, and erases its type if nodes do.
    func take<E: StandardPredicateExpression>(_ expression: E) -> FuzzNode {
        erases ? FuzzTypedNode<E.Output>(Erased<E.Output>(expression)) : FuzzTypedNode<E.Output>(expression)
    }

    /// Wraps a node that ends the process for some operands.
    func take<E: StandardPredicateExpression>(
        _ expression: E,
        unless check: @escaping @Sendable (PredicateBindings) throws -> Bool
    ) -> FuzzNode {
        guard isGuarded else { return take(expression) }
        return FuzzTypedNode<E.Output>(
            Erased<E.Output>(expression) { if try check($0) { throw FuzzTrap() } }
        )
    }

    // MARK: Leaves

    private func constant(_ value: Value, _ type: FuzzType) throws -> FuzzNode {
        if let scalar = type.scalar {
            return try constant(value, isOptional: type.isOptional, scalar.type)
        }
        return null(try output(type.wrapped))
    }

    private func null<T: FuzzOutput>(_ type: T.Type) -> FuzzNode {
        FuzzTypedNode<T?>(PredicateExpressions.NilLiteral<T>())
    }

    private func constant<T: FuzzValue>(_ value: Value, isOptional: Bool, _ type: T.Type) throws -> FuzzNode {
        if isOptional, value.isNull { return null(T.self) }
        let constant = try self.value(value, T.self)
        return isOptional
            ? FuzzTypedNode<T?>(PredicateExpressions.Value<T?>(constant))
            : FuzzTypedNode<T>(PredicateExpressions.Value<T>(constant))
    }

    /// A constant's Swift value.
    func value<T>(_ value: Value, _ type: T.Type) throws -> T {
        guard let convertible = T.self as? any AttributeConvertible.Type,
            let result = convertible.init(attributeValue: value) as? T
        else { throw FuzzTypeMismatch(wanted: "\(T.self)", found: "\(value)") }
        return result
    }

    private func member(
        _ keyPath: any AnyKeyPath & Sendable,
        _ base: FuzzNode,
        _ baseType: FuzzType,
        _ type: FuzzType
    ) throws -> FuzzNode {
        guard let entity = baseType.entity else { throw FuzzTypeMismatch(wanted: "a record", found: "\(baseType)") }
        return try member(keyPath, base, schema.entities[entity].modelType, try output(type))
    }

    private func member<M: PersistentModel, V: FuzzOutput>(
        _ keyPath: any AnyKeyPath & Sendable,
        _ base: FuzzNode,
        _ model: M.Type,
        _ type: V.Type
    ) throws -> FuzzNode {
        guard let typed = keyPath as? KeyPath<M, V> else {
            throw FuzzTypeMismatch(wanted: "\(KeyPath<M, V>.self)", found: "\(keyPath)")
        }
        // The key path was sendable; the cast loses that.
        return keyPathNode(try base.typed(M.self), unsafeBitCast(typed, to: (any KeyPath<M, V> & Sendable).self))
    }

    /// A key path's node; on a variable it is a leaf, whose type need not be erased.
    func keyPathNode<R: StandardPredicateExpression, V>(
        _ root: R,
        _ keyPath: any KeyPath<R.Output, V> & Sendable
    ) -> FuzzNode {
        let node = PredicateExpressions.KeyPath(root: root, keyPath: keyPath)
        return root is PredicateExpressions.Variable<R.Output> ? FuzzTypedNode<V>(node) : take(node)
    }
}

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

/// A node that hides the type of the node in it.
///
/// The type of a Foundation predicate contains the types of all its nodes, and Swift never frees a type's metadata: a million random predicates would
/// be a
/// million types. With this between a node and its operands there are a few hundred.
struct Erased<Output>: StandardPredicateExpression {
    let wrapped: any StandardPredicateExpression<Output>
    /// Throws if evaluating would end the process.
    let check: (@Sendable (PredicateBindings) throws -> Void)?

    init(
        _ wrapped: any StandardPredicateExpression<Output>,
        check: (@Sendable (PredicateBindings) throws -> Void)? = nil
    ) {
        self.wrapped = wrapped
        self.check = check
    }

    func evaluate(_ bindings: PredicateBindings) throws -> Output {
        try check?(bindings)
        return try wrapped.evaluate(bindings)
    }

    /// It exists only at run time.
    init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            .init(codingPath: decoder.codingPath, debugDescription: "an erased expression cannot be decoded")
        )
    }

    /// It exists only at run time.
    func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            self,
            .init(codingPath: encoder.codingPath, debugDescription: "an erased expression cannot be encoded")
        )
    }
}

extension Erased: LowerableExpression {
    func lower(_ context: LoweringContext) throws -> Lowered { try lowerOperand(wrapped, context) }
}

extension Erased: CheckedExpression {
    var operands: [any PredicateExpression] { [wrapped] }
    func checked(_ bindings: PredicateBindings) throws -> Output { try wrapped.checkedValue(bindings) }
}

/// A node for the fuzzer's own evaluation of what no predicate can express.
struct FuzzComputation<Output>: StandardPredicateExpression {
    let body: @Sendable (PredicateBindings) throws -> Output

    func evaluate(_ bindings: PredicateBindings) throws -> Output { try body(bindings) }

    init(_ body: @escaping @Sendable (PredicateBindings) throws -> Output) { self.body = body }

    /// It exists only at run time.
    init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            .init(codingPath: decoder.codingPath, debugDescription: "a computation cannot be decoded")
        )
    }

    /// It exists only at run time.
    func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            body,
            .init(codingPath: encoder.codingPath, debugDescription: "a computation cannot be encoded")
        )
    }
}

/// Evaluating would have ended the process.
struct FuzzTrap: Error {}
