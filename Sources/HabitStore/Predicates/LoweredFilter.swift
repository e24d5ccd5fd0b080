import Foundation

/// A filter as far as it can be lowered: an expression that every result fulfils.
struct LoweredFilter {
    /// What every result fulfils, and all that engines know.
    var expression: FilterExpression
    /// Whether the expression says everything; otherwise the filter itself is evaluated for every candidate, too.
    var isWhole: Bool

    private static let nothing = LoweredFilter(expression: .always, isWhole: false)

    private init(expression: FilterExpression, isWhole: Bool) {
        self.expression = expression
        self.isWhole = isWhole
    }

    /// - Parameter evaluatesPredicates: whether no predicate is lowered.
    init<Model: PersistentModel>(_ filter: Filter<Model>, schema: Schema, evaluatesPredicates: Bool) {
        func lower(_ part: Filter<Model>) -> LoweredFilter {
            LoweredFilter(part, schema: schema, evaluatesPredicates: evaluatesPredicates)
        }
        switch filter {
        case .expression(let expression): self.init(expression: expression, isWhole: true)
        case .predicate(let predicate):
            self = evaluatesPredicates ? .nothing : PredicateLowering.lower(predicate, schema: schema)
        case .not(let part):
            let part = lower(part)
            self = part.isWhole ? LoweredFilter(expression: .not(part.expression), isWhole: true) : .nothing
        case .all(let parts):
            self = .whole(.always)
            for part in parts {
                append(lower(part))
                // A later part must not hide the failure of one that may fail.
                if !isWhole, part.mayFail { return }
            }
        case .any(let parts):
            let lowered = parts.map(lower)
            self =
                lowered.allSatisfy(\.isWhole)
                ? LoweredFilter(expression: .any(lowered.map(\.expression)), isWhole: true) : .nothing
        }
    }

    /// Lowers the terms of a conjunction as far as that goes.
    init(terms expression: any PredicateExpression, _ lower: (any PredicateExpression) -> FilterExpression?) {
        if let whole = lower(expression) {
            self.init(expression: whole, isWhole: true)
            return
        }
        guard let conjunction = expression as? any ConjunctionTerms else {
            self = .nothing
            return
        }
        let (first, second) = conjunction.terms
        self.init(terms: first, lower)
        if isWhole || EvaluationHazard.of(first) == .none { append(LoweredFilter(terms: second, lower)) }
        isWhole = false
    }

    private static func whole(_ expression: FilterExpression) -> LoweredFilter {
        LoweredFilter(expression: expression, isWhole: true)
    }

    /// Adds a later term. After a term that is left out of the expression and may be false, nothing that can fail is added, because
    /// Swift may not reach it.
    private mutating func append(_ other: LoweredFilter) {
        if isWhole || !other.expression.calculates { expression = .all([expression, other.expression]) }
        isWhole = isWhole && other.isWhole
    }
}

/// The two sides of an `&&`, whatever their types.
protocol ConjunctionTerms {
    var terms: (any PredicateExpression, any PredicateExpression) { get }
}

extension PredicateExpressions.Conjunction: ConjunctionTerms {
    var terms: (any PredicateExpression, any PredicateExpression) { (lhs, rhs) }
}

extension Filter {
    /// Whether evaluating it may fail.
    var mayFail: Bool {
        switch self {
        case .expression(let expression): expression.calculates
        case .predicate(let predicate): EvaluationHazard.of(predicate.expression) != .none
        case .not(let part): part.mayFail
        case .all(let parts), .any(let parts): parts.contains(where: \.mayFail)
        }
    }
}

extension Filter {
    /// The filter as one expression, which can be printed, kept in a file and compared.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` when a predicate in it holds a construct that has no form there.
    public func expression(in schema: Schema) throws -> FilterExpression {
        let lowered = LoweredFilter(self, schema: schema, evaluatesPredicates: false)
        guard lowered.isWhole else {
            throw HabitStoreError(
                .unsupported,
                "a predicate of this filter can only be evaluated: something in it has no form as an expression",
                at: .init(entity: Model.entity.name)
            )
        }
        return lowered.expression
    }
}

extension FilterExpression {
    /// The expression that means the same as a predicate.
    ///
    /// - Throws: ``HabitStoreError/Code/unsupported`` when the predicate holds a construct that has no form here.
    public init<Model: PersistentModel>(_ predicate: Predicate<Model>, schema: Schema) throws {
        self = try Filter.predicate(predicate).expression(in: schema)
    }
}

extension PreparedFetch {
    /// - Parameters:
    ///   - evaluatesPredicates: whether every predicate is evaluated, as the in-memory reference does.
    ///   - evaluate: makes a condition of what has to be evaluated on the model.
    init<Model: PersistentModel>(
        _ descriptor: FetchDescriptor<Model>,
        schema: Schema,
        evaluatesPredicates: Bool,
        evaluate: (FilterCondition<Model>) -> Condition
    ) throws {
        let entity = try schema.position(of: Model.self)
        try FetchWindow.require(limit: descriptor.fetchLimit, entity: schema.entities[entity].name)
        if !evaluatesPredicates, let predicate = descriptor.onlyPredicate,
            let found = schema.shapes.shape(of: predicate, schema: schema, entity: entity)
        {
            let query = BoundQuery(
                entity: entity,
                found.shape,
                found.values,
                order: try descriptor.order(in: schema),
                offset: descriptor.fetchOffset,
                limit: descriptor.fetchLimit
            )
            self.init(query, condition: nil) { PredicateLowering.lower(predicate, schema: schema).expression }
            return
        }
        let wanted = descriptor.wanted
        let lowered = LoweredFilter(wanted, schema: schema, evaluatesPredicates: evaluatesPredicates)
        let condition =
            lowered.isWhole ? nil : try FilterCondition(wanted, schema: schema, entity: entity)
        let order = try descriptor.order(in: schema)
        var filter = lowered.expression
        if let cursor = descriptor.cursor {
            let total = BoundQuery(entity: entity, order: order).order
            filter = .all([filter, try cursor.condition(total, entity: schema.entities[entity])])
        }
        let query = BoundQuery(
            entity: entity,
            filter: try filter.bound(to: schema, entity: entity),
            order: order,
            offset: descriptor.fetchOffset,
            limit: descriptor.fetchLimit,
            hasOpaqueCondition: condition != nil,
            opaqueConditionMayFail: condition?.mayFail ?? false
        )
        self.init(query, condition: condition.map(evaluate)) { [filter] in filter }
    }
}

extension FetchDescriptor {
    /// The predicate, where it is the only condition.
    fileprivate var onlyPredicate: Predicate<Model>? {
        guard cursor == nil, case .expression(.literal(.bool(true))) = filter else { return nil }
        return predicate
    }

    /// The predicate and the filter.
    var wanted: Filter<Model> {
        guard let predicate else { return filter }
        if case .expression(.literal(.bool(true))) = filter { return .predicate(predicate) }
        return .predicate(predicate) && filter
    }

    /// The keys of the order; the identifier is not appended yet.
    func order(in schema: Schema) throws -> [BoundQuery.SortKey] {
        try sortBy.map { try Self.sortKey($0, schema: schema) }
    }

    private static func sortKey(_ descriptor: SortDescriptor<Model>, schema: Schema) throws -> BoundQuery.SortKey {
        #if canImport(Darwin)
        if let comparator = descriptor.stringComparator, comparator != .lexical {
            throw HabitStoreError(
                .unsupported,
                "text is ordered by its UTF-8 bytes; use SortDescriptor(…, comparator: .lexical)"
            )
        }
        #endif
        guard let keyPath = descriptor.keyPath, case .attribute(_, let position)? = schema.property(at: keyPath) else {
            let asked = descriptor.keyPath.map { "\($0)" } ?? "a property"
            throw HabitStoreError(
                .unsupported,
                "\(Model.entity.name) cannot be sorted by \(asked): sort by an attribute that is neither computed nor stored "
                    + "as JSON",
                at: .init(entity: Model.entity.name)
            )
        }
        return .init(position: position, ascending: descriptor.order == .forward)
    }
}

extension PageCursor {
    /// The condition that a record comes after this place in an order.
    func condition(_ order: [BoundQuery.SortKey], entity: EntityDescription) throws -> FilterExpression {
        let asked = Self.orderText(entity, order)
        let isOfKinds =
            keys.count == order.count
            && zip(order, keys).allSatisfy { $1.isNull || $1.kind == entity.attributes[$0.position].kind }
        guard isOfKinds, self.order == nil || self.order == asked else {
            throw HabitStoreError(
                .invalidQuery,
                "the page cursor belongs to \(self.order ?? "another order"), and this fetch is of \(asked); start from the first page",
                at: .init(entity: entity.name)
            )
        }
        var alternatives: [FilterExpression] = []
        var equal: [FilterExpression] = []
        for (key, value) in zip(order, keys) {
            let attribute = FilterExpression.attribute(AttributePath(entity.attributes[key.position].name))
            alternatives.append(.all(equal + [Self.behind(value, attribute, ascending: key.ascending)]))
            equal.append(.compare(.equal, attribute, .literal(value)))
        }
        return .any(alternatives)
    }

    private static func behind(
        _ value: Value,
        _ attribute: FilterExpression,
        ascending: Bool
    ) -> FilterExpression {
        switch (value.isNull, ascending) {
        case (true, true): return .compare(.notEqual, attribute, .literal(.null))
        case (true, false): return .never
        case (false, true): return .compare(.greater, attribute, .literal(value))
        case (false, false):
            return .or([
                .compare(.less, attribute, .literal(value)),
                .compare(.equal, attribute, .literal(.null)),
            ])
        }
    }
}

/// How a fetch is made ready for another transaction than the one that it was prepared for.
private final class Remaking: FetchOrigin {
    let prepare: @Sendable (any ReadTransaction) throws -> PreparedFetch

    init(_ prepare: @escaping @Sendable (any ReadTransaction) throws -> PreparedFetch) { self.prepare = prepare }
}

extension PreparedFetch {
    /// Prepares the same fetch for another transaction, if the preparer allows it.
    package var remake: (@Sendable (any ReadTransaction) throws -> PreparedFetch)? {
        get { (origin as? Remaking)?.prepare }
        set { origin = newValue.map(Remaking.init) }
    }
}

/// The parts in which two descriptors of the same fetch are equal. Predicates that Foundation must evaluate cannot be compared, and
/// are assumed to be equal.
struct FetchMeaning: Hashable {
    private let filter: FilterExpression
    private let isWhole: Bool
    private let order: [BoundQuery.SortKey]
    private let limit: Int?
    private let offset: Int
    private let cursor: PageCursor?

    /// - Throws: that nothing can be ordered as the descriptor says.
    init<Model: PersistentModel>(_ descriptor: FetchDescriptor<Model>, in schema: Schema) throws {
        let lowered = LoweredFilter(descriptor.wanted, schema: schema, evaluatesPredicates: false)
        (filter, isWhole) = (lowered.expression, lowered.isWhole)
        order = try descriptor.order(in: schema)
        (limit, offset, cursor) = (descriptor.fetchLimit, descriptor.fetchOffset, descriptor.cursor)
    }
}

/// A filter that is evaluated on the decoded model: predicates by Foundation, or checked where Foundation might end the
/// process, and expressions by the evaluator.
indirect enum FilterCondition<Model: PersistentModel> {
    case predicate(Predicate<Model>, isChecked: Bool)
    case expression(BoundExpression)
    case not(FilterCondition)
    case all([FilterCondition])
    case any([FilterCondition])

    init(_ filter: Filter<Model>, schema: Schema, entity: Int) throws {
        switch filter {
        case .predicate(let predicate):
            self = .predicate(predicate, isChecked: EvaluationHazard.of(predicate.expression) == .trapping)
        case .expression(let expression): self = .expression(try expression.bound(to: schema, entity: entity))
        case .not(let part): self = .not(try FilterCondition(part, schema: schema, entity: entity))
        case .all(let parts):
            self = .all(try parts.map { try FilterCondition($0, schema: schema, entity: entity) })
        case .any(let parts):
            self = .any(try parts.map { try FilterCondition($0, schema: schema, entity: entity) })
        }
    }

    /// Whether evaluating it may fail.
    var mayFail: Bool {
        switch self {
        case .predicate(let predicate, let isChecked):
            isChecked || EvaluationHazard.of(predicate.expression) != .none
        case .expression(let expression): expression.canFail
        case .not(let part): part.mayFail
        case .all(let parts), .any(let parts): parts.contains(where: \.mayFail)
        }
    }

    /// Whether a model, which was read from a row, fulfils it.
    ///
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` where Swift would trap or throw.
    func holds(_ model: Model, _ row: LentRow, _ evaluator: FilterEvaluator) throws -> Bool {
        switch self {
        case .predicate(let predicate, let isChecked): try Self.evaluate(predicate, model, isChecked: isChecked)
        case .expression(let expression): try evaluator.matches(expression, row)
        case .not(let part): try !part.holds(model, row, evaluator)
        case .all(let parts): try parts.allSatisfy { try $0.holds(model, row, evaluator) }
        case .any(let parts): try parts.contains { try $0.holds(model, row, evaluator) }
        }
    }

    private static func evaluate(_ predicate: Predicate<Model>, _ model: Model, isChecked: Bool) throws -> Bool {
        do {
            guard isChecked else { return try predicate.evaluate(model) }
            return try predicate.expression.checkedValue(PredicateBindings((predicate.variable, model)))
        } catch {
            throw HabitStoreError(
                .evaluationFailed,
                "a predicate could not be evaluated, where Swift would trap or throw",
                at: .init(entity: Model.entity.name, id: model.id),
                underlying: error
            )
        }
    }
}
