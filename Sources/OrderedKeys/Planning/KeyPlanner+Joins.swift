@_spi(Engines) import HabitStore

/// Uses indexes of other entities, or several indexes of one, for conditions that no single index answers.
extension KeyPlanner {
    /// With fewer candidates than this, a join cannot pay.
    private static let leastWorthJoining = 8
    /// The maximum number of identifiers that are looked up first to narrow a plan.
    static let mostJoined = 10_000
    /// The maximum depth of plans within plans.
    private static let mostDepth = 3

    /// The plan with conditions replaced by the identifiers of their records; nil if that does not pay.
    func joined(insteadOf best: KeyPlanCandidate) throws -> KeyPlan? {
        guard depth < Self.mostDepth, best.consumed.count < conditions.count else { return nil }
        let places = conditions.indices.filter { place in
            !best.consumed.contains(place) && !best.used.contains(place)
                && SemiJoin.mayAnswer(conditions[place].expression)
        }
        guard !places.isEmpty else { return nil }
        let rows = try snapshot.countKeys(
            best.access,
            best.ranges,
            query.entity,
            upTo: Self.mostJoined * Self.lookupCost
        )
        guard rows >= Self.leastWorthJoining else { return nil }
        var joined = self
        var examined = 0
        let join = SemiJoin(snapshot, query.entity, depth: depth, most: rows / Self.lookupCost)
        for place in places {
            if let found = try join.identifiers(conditions[place].expression, &examined) {
                joined.replace(place, by: found)
            }
        }
        guard joined.conditions.contains(where: { $0.source != nil }) else { return nil }
        guard let candidate = try joined.cheapest() else { return joined.nothing(examined: examined) }
        guard try joined.isCheaper(candidate, than: best, rows) else { return nil }
        return joined.plan(candidate, examined: examined)
    }

    /// The candidate with the fewest keys; nil if one has none.
    private func cheapest() throws -> KeyPlanCandidate? {
        var best = try recordsCandidate()
        if best.ranges.isEmpty { return nil }
        var fewest = try rows(best, upTo: Self.mostJoined * Self.lookupCost)
        for index in indexes {
            guard let candidate = try candidate(index), candidate.isNarrowed else { continue }
            if candidate.ranges.isEmpty { return nil }
            let count = try rows(candidate, upTo: min(fewest, Self.mostJoined * Self.lookupCost) + 1)
            if count < fewest || (count == fewest && best.rank(conditions.count) < candidate.rank(conditions.count)) {
                (best, fewest) = (candidate, count)
            }
        }
        return best
    }

    private func rows(_ candidate: KeyPlanCandidate, upTo most: Int) throws -> Int {
        candidate.isUnique
            ? candidate.ranges.count
            : try snapshot.countKeys(candidate.access, candidate.ranges, query.entity, upTo: most)
    }

    /// Whether a candidate with joins is better than one without.
    ///
    /// - Parameter rows: the number of keys of the other candidate, or a large number.
    private func isCheaper(_ candidate: KeyPlanCandidate, than other: KeyPlanCandidate, _ rows: Int) throws -> Bool {
        guard candidate.isNarrowed,
            conditions.indices.contains(where: { place in
                conditions[place].source != nil
                    && (candidate.consumed.contains(place) || candidate.used.contains(place))
            })
        else { return false }
        let count = try self.rows(candidate, upTo: rows)
        // A walk in order ends at the limit, which it reaches sooner the more of the records meet the filter.
        guard let limit = query.limit, other.givesOrder, !candidate.givesOrder, !query.mayFail else {
            let leavesSideBySide = !other.isNarrowed || (other.holdsCopies && !candidate.holdsCopies)
            return count * (leavesSideBySide ? Self.lookupCost : 1) <= rows
        }
        let total = try snapshot.countKeys(other.access, other.ranges, query.entity, upTo: Int.max)
        let wanted = min(limit, total) + min(query.offset, total)
        return count * count <= wanted * total
    }
}
