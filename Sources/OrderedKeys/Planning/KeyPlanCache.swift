@_spi(Engines) import HabitStore
import Synchronization

/// The cached plans of one store, by the shapes of their filters; see ``KeptKeyPlan``.
package final class KeyPlanCache: Sendable {
    /// With more plans than this the cache is emptied: a caller with so many queries repeats few of them often.
    private static let mostPlans = 64

    private struct State {
        var plans: [ObjectIdentifier: [KeptKeyPlan]] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// The plan of a query: a cached one with the query's constants, or one from `make`.
    func plan(
        _ query: BoundQuery,
        _ snapshot: any KeySnapshot,
        _ make: (BoundQuery) throws -> KeyPlan
    ) throws -> KeyPlan {
        guard let (shape, values) = query.shape, shape.comparesDirectly else { return try make(query) }
        let place = ObjectIdentifier(shape)
        let kept = state.withLock { $0.plans[place]?.first { $0.query.covers(query) } }
        if let kept { return try kept.plan(query, values, snapshot.buffer) ?? make(query) }
        let counts = snapshot.keyCounts
        let plan = try make(query)
        // A plan that was chosen by counting keys may be different next time.
        guard snapshot.keyCounts == counts,
            let kept = KeptKeyPlan(query, shape, plan, snapshot.keyTables.tables[query.entity]),
            try kept.plan(query, values, snapshot.buffer)?.ranges == plan.ranges
        else { return plan }
        state.withLock { state in
            if state.count >= Self.mostPlans { state = State() }
            state.plans[place, default: []].append(kept)
            state.count += 1
        }
        return plan
    }
}
