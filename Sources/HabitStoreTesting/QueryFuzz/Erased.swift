import Foundation
import HabitStore

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
