import Foundation

/// Lowers Foundation's predicates to ``FilterExpression``.
///
/// Foundation's expression types are public so that they can be translated. Each of them conforms to
/// ``LowerableExpression`` without conditions and casts its operands at run time, so that a construct that cannot be
/// lowered only ever makes the predicate be evaluated instead.
enum PredicateLowering {
    /// The predicate as far as it can be lowered: as a whole, or those terms of its conjunction that can.
    static func lower<Model: PersistentModel>(_ predicate: Predicate<Model>, schema: Schema) -> LoweredFilter {
        lower(predicate.expression, predicate.variable.key, schema: schema)
    }

    /// The same for the expression of a predicate, and the variable in it that is the record asked for.
    static func lower(
        _ expression: any PredicateExpression,
        _ variable: PredicateExpressions.VariableID,
        schema: Schema
    ) -> LoweredFilter {
        LoweredFilter(terms: expression) { term in
            var context = LoweringContext(schema: schema)
            context.bindings[variable] = .record(RecordPath())
            guard let filter = try? lowerValue(term, context), !context.texts.mustBeEvaluated else { return nil }
            return filter
        }
    }
}

/// The result of lowering an expression node.
package enum Lowered {
    /// A value or a condition.
    case value(FilterExpression)
    /// A record: the one asked for, one of a collection, or what to-one relationships lead to.
    case record(RecordPath)
    /// The related records of a to-many relationship, those that fulfil a condition.
    case collection(CollectionPath, variable: Int, FilterExpression)
    /// Constants that something may be a member of.
    case constants([Value])
    /// A captured range.
    case range(lower: FilterExpression, upper: FilterExpression, includesUpper: Bool)
    /// nil.
    case null
}

/// The use of texts in the expression so far.
///
/// All stored text is in NFC, where Swift's order is the order of the bytes. A captured constant may be in another form: Swift then
/// has a different order, which is not even transitive, and Foundation searches scalar by scalar. In that case Swift must evaluate
/// the condition.
package final class LoweredTexts {
    /// Whether texts are ordered or searched, so that their form makes a difference.
    var formMatters = false
    /// Whether a constant is not in NFC.
    var hasOtherForms = false

    var mustBeEvaluated: Bool { formMatters && hasOtherForms }
}

/// The context of lowering a node.
package struct LoweringContext {
    let schema: Schema
    let texts = LoweredTexts()
    var bindings: [PredicateExpressions.VariableID: Lowered] = [:]
    /// How many collection conditions are around; the number of the innermost variable.
    var depth = 0
}

/// An expression node that may be lowered.
package protocol LowerableExpression {
    func lower(_ context: LoweringContext) throws -> Lowered
}

/// The node, or what is in it, has no form in ``FilterExpression``: the predicate is evaluated instead.
struct NotLowerable: Error {}

/// Lowers an operand.
///
/// Its type is cast, and not the operand: that would copy all that is below it for each node above.
package func lowerOperand<Operand: PredicateExpression>(
    _ operand: Operand,
    _ context: LoweringContext
) throws -> Lowered {
    guard let type = Operand.self as? any LowerableExpression.Type else { throw NotLowerable() }
    return try lower(operand, as: type, context)
}

/// - Parameter type: the operand's own type.
private func lower<Operand, Node: LowerableExpression>(
    _ operand: Operand,
    as type: Node.Type,
    _ context: LoweringContext
) throws -> Lowered {
    try withUnsafePointer(to: operand) {
        try UnsafeRawPointer($0).assumingMemoryBound(to: Node.self).pointee.lower(context)
    }
}

/// Lowers an operand to a value.
package func lowerValue<Operand: PredicateExpression>(
    _ operand: Operand,
    _ context: LoweringContext
) throws -> FilterExpression {
    switch try lowerOperand(operand, context) {
    case .value(let expression): return expression
    case .null: return .literal(.null)
    case .record, .collection, .constants, .range: throw NotLowerable()
    }
}
