@_spi(Engines) import HabitStore

/// The cached plans of one connection, by the shapes of their filters.
///
/// A plan is cached if SQL does its whole filter, no rows had to be counted for it, and every constant is bound without having
/// influenced the plan. To check the latter, the plan is made again with constants that mark their places; its text must be the
/// same.
final class SQLitePlanCache {
    /// With more plans than this the cache is emptied: a caller with so many queries repeats few of them often.
    private static let mostPlans = 64

    private var plans: [ObjectIdentifier: [SQLiteKeptPlan]] = [:]
    private var count = 0

    /// The plan of a query: a cached one with the query's constants, or one from `make`.
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

    /// Removes all plans and releases their statements.
    func removeAll() {
        plans.removeAll()
        count = 0
    }
}
