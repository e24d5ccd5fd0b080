import Foundation

/// Tells which of a plan's candidates are results: what the engine left of the filter, then the condition that engines do
/// not know. It is not generic, so that nothing about types is looked up for each row.
final class CandidateFilter {
    /// How what the engine left of the filter is evaluated.
    enum Residual {
        /// As it is written, by the reference.
        case interpreted(BoundExpression, FilterEvaluator)
        /// Compiled for the query.
        case compiled(CompiledFilter)
    }

    private let compiled: CompiledFilter?
    private let interpreted: (filter: BoundExpression, evaluator: FilterEvaluator)?
    private let condition: PreparedFetch.Condition?
    private let entity: String
    private let collectsFailures: Bool
    private var failure: (id: UUID, error: HabitStoreError)?

    /// - Parameters:
    ///   - residual: what the engine left of the filter.
    ///   - condition: a condition that engines do not know.
    ///   - entity: the name of the rows' entity.
    ///   - collectsFailures: whether a record that cannot be evaluated is kept for ``rethrow()``, so that of several the one
    ///     with the least identifier is reported, in whatever order they come.
    init(
        residual: Residual?,
        condition: PreparedFetch.Condition?,
        entity: String,
        collectsFailures: Bool
    ) {
        // Kept apart: a case with values in it would be copied for each row.
        switch residual {
        case .compiled(let filter): (compiled, interpreted) = (filter, nil)
        case .interpreted(let filter, let evaluator): (compiled, interpreted) = (nil, (filter, evaluator))
        case nil: (compiled, interpreted) = (nil, nil)
        }
        self.condition = condition
        self.entity = entity
        self.collectsFailures = collectsFailures
    }

    /// The filter for a loop over many rows, where it is all that decides; valid as long as this is.
    var loop: FilterLoop? { condition == nil && !collectsFailures ? compiled?.loop : nil }

    /// Whether a candidate is a result. The row is at its beginning afterwards.
    func passes(_ row: inout AttributeReader) throws -> Bool {
        guard collectsFailures else { return try evaluate(&row) }
        do {
            return try evaluate(&row)
        } catch let error as HabitStoreError where error.code == .evaluationFailed {
            row.rewind()
            let id = try row.nextUUID()
            row.rewind()
            if failure.map({ id.isBefore($0.id) }) ?? true { failure = (id, error) }
            return false
        }
    }

    /// Throws the failure of the record with the least identifier among those that failed.
    func rethrow() throws {
        guard let failure else { return }
        throw HabitStoreError(
            .evaluationFailed,
            failure.error.message,
            at: .init(entity: entity, id: failure.id),
            underlying: failure.error.underlying
        )
    }

    private func evaluate(_ row: inout AttributeReader) throws -> Bool {
        if let compiled {
            guard try compiled.matches(&row) else { return false }
        } else if let interpreted {
            guard try interpreted.evaluator.matches(interpreted.filter, row.values) else { return false }
        }
        guard let condition else { return true }
        defer { row.rewind() }
        return try condition(&row)
    }
}
