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

extension PredicateExpressions.Variable: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        guard let binding = context.bindings[key] else { throw NotLowerable() }
        return binding
    }
}

extension PredicateExpressions.NilLiteral: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered { .null }
}

extension PredicateExpressions.Value: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        if let value = try CapturedValue.usual(value) { return value.isNull ? .null : .value(.literal(value)) }
        let texts: [String]
        switch value as Any {
        case let text as String: texts = [text]
        case let range as Swift.Range<String>: texts = [range.lowerBound, range.upperBound]
        case let range as Swift.ClosedRange<String>: texts = [range.lowerBound, range.upperBound]
        default: texts = []
        }
        if !texts.allSatisfy(\.isInNFC) { context.texts.hasOtherForms = true }
        return try CapturedValue.lower(value)
    }
}

/// Captured constants: everything that an attribute can be, lists and sets of it, and ranges.
enum CapturedValue {
    static func lower(_ captured: Any) throws -> Lowered {
        if let value = try scalar(captured) { return value.isNull ? .null : .value(.literal(value)) }
        if let range = captured as? any LowerableRange { return try range.lowered() }
        if let members = captured as? any Collection {
            var values: [Value] = []
            for member in sequence(members) {
                guard let value = try scalar(member) else { throw NotLowerable() }
                values.append(value)
            }
            return .constants(values)
        }
        throw NotLowerable()
    }

    /// The value of a constant of the most common types, which are recognized without casting; nil for any other.
    static func usual<Constant>(_ captured: Constant) throws -> Value? {
        if Constant.self == UUID.self { return (captured as? UUID).map { .uuid($0) } }
        if Constant.self == UUID?.self { return (captured as? UUID).map { .uuid($0) } ?? .null }
        if Constant.self == Int.self { return (captured as? Int).map { .int(Int64($0)) } }
        if Constant.self == Date.self, let date = captured as? Date, date.timeIntervalSinceReferenceDate.isFinite {
            return .date(try date.storable())
        }
        return nil
    }

    private static func sequence(_ collection: any Collection) -> [Any] { collection.map { $0 as Any } }

    /// The value of a constant that an attribute could have; nil for anything else.
    static func scalar(_ captured: Any) throws -> Value? {
        switch captured {
        case let text as String: return .string(text.normalizedToNFC())
        // A cast to a concrete type costs a fraction of one to a protocol, and these are what most predicates hold.
        case let id as UUID: return .uuid(id)
        case let number as Int: return .int(Int64(number))
        case let flag as Bool: return .bool(flag)
        // No attribute keeps the sign of zero, and dividing by it tells.
        case let number as Double where number == 0 && number.sign == .minus: throw NotLowerable()
        case let order as ComparisonResult: return .int(Int64(order.rawValue))
        case let date as Date where date.timeIntervalSinceReferenceDate.isFinite: return .date(try date.storable())
        case let convertible as any AttributeConvertible:
            if type(of: convertible).attributeKind == .strings || type(of: convertible).attributeKind == .links {
                return nil
            }
            // A constant such as NaN cannot be kept by a store, but a predicate may hold it: Swift then answers.
            guard let value = try? convertible.attributeValue() else { throw NotLowerable() }
            return value
        default: return nil
        }
    }
}

/// Ranges of constants.
protocol LowerableRange {
    func lowered() throws -> Lowered
}

extension Range: LowerableRange {
    func lowered() throws -> Lowered { try lowerRange(lowerBound, upperBound, includesUpper: false) }
}

extension ClosedRange: LowerableRange {
    func lowered() throws -> Lowered { try lowerRange(lowerBound, upperBound, includesUpper: true) }
}

private func lowerRange(_ lower: Any, _ upper: Any, includesUpper: Bool) throws -> Lowered {
    guard let lower = try CapturedValue.scalar(lower), let upper = try CapturedValue.scalar(upper) else {
        throw NotLowerable()
    }
    return .range(lower: .literal(lower), upper: .literal(upper), includesUpper: includesUpper)
}

extension PredicateExpressions.Range: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        try lowerRangeExpression(lower, upper, includesUpper: false, context)
    }
}

extension PredicateExpressions.ClosedRange: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        try lowerRangeExpression(lower, upper, includesUpper: true, context)
    }
}

/// A range built inside of a predicate traps in Swift when its bounds are the wrong way round, which only constant
/// bounds can rule out.
private func lowerRangeExpression<Lower: PredicateExpression, Upper: PredicateExpression>(
    _ lower: Lower,
    _ upper: Upper,
    includesUpper: Bool,
    _ context: LoweringContext
) throws -> Lowered {
    guard case .literal(let first) = try lowerValue(lower, context),
        case .literal(let last) = try lowerValue(upper, context),
        !first.isNull, !last.isNull, first.order(comparedWith: last) <= 0
    else { throw NotLowerable() }
    return .range(lower: .literal(first), upper: .literal(last), includesUpper: includesUpper)
}

extension PredicateExpressions.KeyPath: LowerableExpression {
    package func lower(_ context: LoweringContext) throws -> Lowered {
        switch try lowerOperand(root, context) {
        case .record(let path): return try lowerProperty(of: path, context)
        case .collection(let path, let variable, let condition):
            let count = FilterExpression.count(path, variable: variable, condition)
            switch kind {
            case .collectionCount: return .value(count)
            case .collectionIsEmpty: return .value(.compare(.equal, count, .literal(.int(0))))
            default: throw NotLowerable()
            }
        case .value(let expression):
            switch kind {
            case .collectionCount: return .value(.length(expression))
            case .collectionIsEmpty:
                return .value(.compare(.equal, .length(expression), .literal(.int(0))))
            default: return try lowerRawValue(of: expression)
            }
        case .constants, .range, .null: throw NotLowerable()
        }
    }

    private func lowerProperty(of path: RecordPath, _ context: LoweringContext) throws -> Lowered {
        guard let property = context.schema.property(at: keyPath) else { throw NotLowerable() }
        switch property {
        case .attribute(let entity, let position):
            let attribute = context.schema.entities[entity].attributes[position]
            // JSON values are compared by what they decode to, not by their bytes.
            guard attribute.kind != .data || Output.self == Data.self || Output.self == Data?.self else {
                throw NotLowerable()
            }
            return .value(.attribute(AttributePath(attribute.name, of: path)))
        case .relationship(let entity, let position):
            let relationship = context.schema.entities[entity].relationships[position]
            guard relationship.isToOne else {
                let collection = CollectionPath(relationship.name, of: path)
                return .collection(collection, variable: context.depth + 1, .always)
            }
            return .record(RecordPath(variable: path.variable, hops: path.hops + [relationship.name]))
        }
    }

    /// `rawValue` of an enum attribute is what is stored.
    private func lowerRawValue(of expression: FilterExpression) throws -> Lowered {
        if keyPath == \ComparisonResult.rawValue { return .value(expression) }
        guard let type = Root.Output.self as? any AttributeEnum.Type, type.hasRawValue(keyPath) else {
            throw NotLowerable()
        }
        return .value(expression)
    }
}

extension AttributeEnum {
    static func hasRawValue(_ keyPath: AnyKeyPath) -> Bool { keyPath == \Self.rawValue }
}
