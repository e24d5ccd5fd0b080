import Foundation

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
