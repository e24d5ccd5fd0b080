import HabitStore

extension LMDBSnapshot {
    /// The plan of a query: where its filter has a shape, the kept one with the query's constants, or one that `make` makes.
    /// See ``LMDBKeptPlan``.
    func keptPlan(_ query: BoundQuery, _ make: (BoundQuery) throws -> LMDBPlan) throws -> LMDBPlan {
        guard let (shape, values) = query.shape, shape.comparesDirectly else { return try make(query) }
        let kept = catalog.plans.withLock { $0.first(of: shape) { $0.query.covers(query) } }
        if let kept { return try kept.plan(query, values, buffer) ?? make(query) }
        let counts = keyCounts
        let plan = try make(query)
        // What was decided by counting keys may be decided otherwise next time.
        guard keyCounts == counts, let kept = LMDBKeptPlan(query, shape, plan, catalog.tables[query.entity]),
            try kept.plan(query, values, buffer)?.ranges == plan.ranges
        else { return plan }
        catalog.plans.withLock { $0.keep(kept, of: shape) }
        return plan
    }
}
