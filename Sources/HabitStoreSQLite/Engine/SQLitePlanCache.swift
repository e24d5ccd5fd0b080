@_spi(Engines) import HabitStore

/// The plans of one connection, by the shapes of their filters.
///
/// Kept is a plan that does all of its filter in SQL, for which no rows had to be counted, and in which every constant is
/// bound and none decided anything. That is seen by making it once more with constants that mark their places: its text must
/// be the same.
final class SQLitePlanCache {
    /// When there are more, all are forgotten: whoever asks for so many asks for few of them often.
    private static let mostPlans = 64

    private var plans: [ObjectIdentifier: [SQLiteKeptPlan]] = [:]
    private var count = 0

    /// The plan of a query that has a shape: the kept one with the query's constants, or one that `make` makes.
    func plan(_ query: BoundQuery, _ planner: SQLitePlanner, _ make: (BoundQuery) -> SQLitePlan) -> SQLitePlan {
        guard let (shape, values) = query.shape, shape.comparesDirectly else { return make(query) }
        let known = plans[ObjectIdentifier(shape)]
        if let kept = known?.first(where: { $0.isFor(query, planner) }) {
            return kept.plan(query, values, planner) ?? make(query)
        }
        let probes = planner.connection.notes.probes
        var plan = make(query)
        var marked: SQLitePlan?
        if planner.connection.notes.probes == probes {
            var other = query
            other.filter = shape.markedFilter
            marked = make(other)
        }
        let kept = SQLiteKeptPlan(
            query,
            shape,
            values,
            plan,
            marked: planner.connection.notes.probes == probes ? marked : nil
        )
        keep(kept, ObjectIdentifier(shape))
        plan.kept = kept
        return plan
    }

    private func keep(_ plan: SQLiteKeptPlan, _ shape: ObjectIdentifier) {
        if count >= Self.mostPlans { removeAll() }
        plans[shape, default: []].append(plan)
        count += 1
    }

    /// Forgets all plans, and lets go of their statements.
    func removeAll() {
        plans.removeAll()
        count = 0
    }
}
