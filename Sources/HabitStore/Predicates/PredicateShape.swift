import Foundation
import Synchronization

/// What predicates have in common that are written the same way and differ in captured constants only: the expression that
/// they are lowered and bound to, with places for the constants.
///
/// Engines may keep by a shape's identity what depends on nothing else of a filter.
package final class PredicateShape: Sendable {
    /// The key paths, kept so that no other can take their place in memory.
    // They come from `any KeyPath & Sendable`; only the type here forgets it.
    private nonisolated(unsafe) let keyPaths: [AnyKeyPath]
    /// The operators and truth values.
    private let bytes: [UInt8]
    private let template: FilterTemplate
    /// Constants that are different from each other and from all else in ``markedFilter``.
    package let marks: [Value]
    /// The filter with ``marks``: what is made of it tells where each constant goes.
    package let markedFilter: BoundExpression
    /// Whether each constant is one side of a comparison with an attribute of the record asked for, and all of those hold.
    package let comparesDirectly: Bool

    /// - Parameter template: of an expression at `base`.
    init(
        _ layout: ShapeLayout,
        at base: UnsafeRawPointer,
        template: FilterTemplate,
        marks: [Value]
    ) {
        keyPaths = layout.keyPaths.map { (base + $0).assumingMemoryBound(to: AnyKeyPath.self).pointee }
        bytes = layout.bytes.map { base.load(fromByteOffset: $0, as: UInt8.self) }
        self.template = template
        self.marks = marks
        markedFilter = template.filled(marks)
        comparesDirectly = template.conjuncts.allSatisfy { part in
            part.isFixed || part.filled(marks).rootComparison != nil
        }
    }

    /// Whether an expression, whose type is that of the shape's own, differs from it in nothing but constants.
    func matches(_ layout: ShapeLayout, at base: UnsafeRawPointer) -> Bool {
        for (index, place) in layout.keyPaths.enumerated() {
            // The same object; an equal one only means that the longer way is taken.
            let object = base.load(fromByteOffset: place, as: UnsafeRawPointer.self)
            guard object == UnsafeRawPointer(Unmanaged.passUnretained(keyPaths[index]).toOpaque()) else { return false }
        }
        for (index, place) in layout.bytes.enumerated() {
            guard base.load(fromByteOffset: place, as: UInt8.self) == bytes[index] else { return false }
        }
        return true
    }

    /// The filter with these constants.
    func filter(_ values: [Value]) -> BoundExpression { template.filled(values) }
}

extension FilterTemplate {
    fileprivate var conjuncts: [FilterTemplate] {
        if case .and(let parts) = self { return parts.flatMap(\.conjuncts) }
        return [self]
    }
}

/// A bound expression with places for constants.
indirect enum FilterTemplate: Sendable {
    /// Without a place for a constant.
    case fixed(BoundExpression)
    /// A constant, by its number.
    case constant(Int)
    case not(FilterTemplate)
    case and([FilterTemplate])
    case or([FilterTemplate])
    case compare(FilterExpression.Comparison, FilterTemplate, FilterTemplate)
    case coalesce(FilterTemplate, FilterTemplate)

    /// Finds the places in an expression that was made from constants none of which it would hold otherwise; nil when one of
    /// them stands inside of something that has no places.
    init?(_ expression: BoundExpression, of marks: [Value]) {
        func template(_ part: BoundExpression) -> FilterTemplate? { FilterTemplate(part, of: marks) }
        func all(_ parts: [BoundExpression]) -> [FilterTemplate]? {
            let templates = parts.compactMap(template)
            return templates.count == parts.count ? templates : nil
        }
        switch expression {
        case .literal(let value): self = marks.firstIndex(of: value).map { .constant($0) } ?? .fixed(expression)
        case .attribute, .exists, .count(_, .literal(.bool(true))), .length(.attribute): self = .fixed(expression)
        case .not(let inner):
            guard let inner = template(inner) else { return nil }
            self = .not(inner)
        case .and(let parts):
            guard let parts = all(parts) else { return nil }
            self = .and(parts)
        case .or(let parts):
            guard let parts = all(parts) else { return nil }
            self = .or(parts)
        case .compare(let comparison, let left, let right):
            guard let left = template(left), let right = template(right) else { return nil }
            self = .compare(comparison, left, right)
        case .coalesce(let first, let second):
            guard let first = template(first), let second = template(second) else { return nil }
            self = .coalesce(first, second)
        default: return nil
        }
    }

    /// The expression with these constants.
    func filled(_ values: [Value]) -> BoundExpression {
        switch self {
        case .fixed(let expression): return expression
        case .constant(let number): return .literal(values[number])
        case .not(let inner): return .not(inner.filled(values))
        case .and(let parts): return .and(parts.map { $0.filled(values) })
        case .or(let parts): return .or(parts.map { $0.filled(values) })
        case .compare(let comparison, let left, let right):
            return .compare(comparison, left.filled(values), right.filled(values))
        case .coalesce(let first, let second): return .coalesce(first.filled(values), second.filled(values))
        }
    }

    /// Whether no constant has a place in it.
    var isFixed: Bool {
        switch self {
        case .fixed: return true
        case .constant: return false
        case .not(let inner): return inner.isFixed
        case .and(let parts), .or(let parts): return parts.allSatisfy(\.isFixed)
        case .compare(_, let first, let second), .coalesce(let first, let second):
            return first.isFixed && second.isFixed
        }
    }
}

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

extension ShapeCache {
    /// The first of the numbers that mark constants; one that no query contains.
    private static let firstMark = 0x5_EED0_2F6B_7153

    /// The shape of a predicate and its constants; nil when it has none, and has to be lowered.
    func shape<Model: PersistentModel>(
        of predicate: Predicate<Model>,
        schema: Schema,
        entity: Int
    ) -> (shape: PredicateShape, values: [Value])? {
        func open<Expression: PredicateExpression>(
            _ expression: Expression
        ) -> (shape: PredicateShape, values: [Value])? where Expression.Output == Bool {
            shape(of: expression, predicate.variable.key, schema, entity)
        }
        return open(predicate.expression)
    }

    private func shape<Expression: PredicateExpression>(
        of expression: Expression,
        _ variable: PredicateExpressions.VariableID,
        _ schema: Schema,
        _ entity: Int
    ) -> (shape: PredicateShape, values: [Value])? {
        let type = ObjectIdentifier(Expression.self)
        let known = kinds.withLock { $0[type] } ?? learn(Expression.self, type)
        guard let layout = known.layout else { return nil }
        return withUnsafePointer(to: expression) { pointer in
            let base = UnsafeRawPointer(pointer)
            guard layout.hasOnly(variable, at: base), let values = layout.values(at: base) else { return nil }
            for shape in known.shapes where shape.matches(layout, at: base) { return (shape, values) }
            guard !known.isFull else { return nil }
            let made = make(expression, layout, values, variable, schema, entity)
            keep(made, type)
            return made.map { ($0, values) }
        }
    }

    /// Makes the shape of an expression; nil when it holds constants where a shape has no places.
    private func make<Expression: PredicateExpression>(
        _ expression: Expression,
        _ layout: ShapeLayout,
        _ values: [Value],
        _ variable: PredicateExpressions.VariableID,
        _ schema: Schema,
        _ entity: Int
    ) -> PredicateShape? {
        func bound(_ expression: Expression) -> BoundExpression? {
            let lowered = PredicateLowering.lower(expression, variable, schema: schema)
            return lowered.isWhole ? try? lowered.expression.bound(to: schema, entity: entity) : nil
        }
        func changed(_ number: (Int) -> Int) -> (expression: Expression, values: [Value])? {
            var copy = expression
            let values = withUnsafeMutablePointer(to: &copy) { pointer in
                let base = UnsafeMutableRawPointer(pointer)
                for (index, constant) in layout.constants.enumerated() {
                    constant.kind.store(number(index), at: base + constant.place)
                }
                return layout.values(at: base)
            }
            return values.map { (copy, $0) }
        }
        guard let marked = changed({ Self.firstMark + $0 }), let markedFilter = bound(marked.expression),
            let template = FilterTemplate(markedFilter, of: marked.values), let zeros = changed({ _ in 0 })
        else { return nil }
        let checks = [(expression, values), marked, zeros]
        guard checks.allSatisfy({ bound($0.0) == template.filled($0.1) }) else { return nil }
        return withUnsafePointer(to: expression) {
            PredicateShape(layout, at: UnsafeRawPointer($0), template: template, marks: marked.values)
        }
    }
}

/// Identifies the queries that a cached plan is valid for, and maps each of a query's constants to its place in the plan.
package struct CachedQuery: Sendable {
    /// Where a value of the plan comes from.
    package enum Place: Sendable {
        /// The same for all queries.
        case fixed(Value)
        /// The number of the query's constant.
        case constant(Int)

        /// The value in a query with these constants.
        package func value(_ constants: [Value]) -> Value {
            switch self {
            case .fixed(let value): value
            case .constant(let number): constants[number]
            }
        }
    }

    /// Kept, so that no other shape can take its place in memory.
    private let shape: PredicateShape
    /// The query, with marks instead of the filter's constants.
    private let query: BoundQuery

    /// - Parameter query: a query of the shape.
    package init(_ query: BoundQuery, _ shape: PredicateShape) {
        self.shape = shape
        var query = query
        query.filter = shape.markedFilter
        self.query = query
    }

    /// Where a value comes from that stands in what was made of ``PredicateShape/markedFilter``.
    package func place(_ marked: Value) -> Place {
        shape.marks.firstIndex(of: marked).map(Place.constant) ?? .fixed(marked)
    }

    /// Whether another query of the shape differs in nothing but constants and the window's ends.
    package func covers(_ other: BoundQuery) -> Bool {
        query.entity == other.entity && query.order == other.order && query.projection == other.projection
            && query.isUnordered == other.isUnordered && (query.limit == nil) == (other.limit == nil)
            && (query.offset > 0) == (other.offset > 0) && query.hasOpaqueCondition == other.hasOpaqueCondition
            && query.mayFail == other.mayFail
    }
}
