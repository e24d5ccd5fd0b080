import HabitStore

extension SQLitePlanner {
    /// The plan of a query: where its filter has a shape, the kept one with the query's constants, or one that `make` makes.
    ///
    /// Kept is a plan that does all of its filter in SQL, for which no rows had to be counted, and in which every constant is
    /// bound and none decided anything. That is seen by making it once more with constants that mark their places: its text must
    /// be the same.
    func keptPlan(_ query: BoundQuery, _ make: (BoundQuery) -> SQLitePlan) -> SQLitePlan {
        guard let (shape, values) = query.shape, shape.comparesDirectly else { return make(query) }
        let notes = connection.notes
        if let kept = notes.plans.first(of: shape, where: { $0.isFor(query, self) }) {
            return kept.plan(query, values, self) ?? make(query)
        }
        let probes = notes.probes
        var plan = make(query)
        var marked: SQLitePlan?
        if notes.probes == probes {
            var other = query
            other.filter = shape.markedFilter
            marked = make(other)
        }
        let kept = SQLiteKeptPlan(query, shape, values, plan, marked: notes.probes == probes ? marked : nil)
        notes.plans.keep(kept, of: shape)
        plan.kept = kept
        return plan
    }
}
