import Foundation

/// Tells which of a plan's candidates are results: what the engine left of the filter, then the condition that engines do
/// not know. It is not generic, so that nothing about types is looked up for each row.
final class CandidateFilter {
    private let residual: BoundExpression?
    private let evaluator: FilterEvaluator
    private let condition: PreparedFetch.Condition?
    private let entity: String
    private let collectsFailures: Bool
    private var failure: (id: UUID, error: HabitStoreError)?

    /// - Parameters:
    ///   - records: follows relationships.
    ///   - collectsFailures: whether a record that cannot be evaluated is kept for ``rethrow()``, so that of several the one
    ///     with the least identifier is reported, in whatever order they come.
    init(
        residual: BoundExpression?,
        condition: PreparedFetch.Condition?,
        records: any RelatedRecords,
        entity: String,
        collectsFailures: Bool
    ) {
        self.residual = residual
        self.condition = condition
        self.entity = entity
        self.collectsFailures = collectsFailures
        evaluator = FilterEvaluator(records)
    }

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
        if let residual, try !evaluator.matches(residual, row) { return false }
        guard let condition else { return true }
        defer { row.rewind() }
        return try condition(&row)
    }
}
