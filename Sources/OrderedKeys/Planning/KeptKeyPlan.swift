@_spi(Engines) import HabitStore

/// The part of a plan that depends only on the shape of its query, and the place of each constant in the single key range.
///
/// Such a plan walks an index in which the conditions fix the first attributes and bound the next one, none of them a text.
/// Whatever the constants are, as long as they are of the attributes' kinds and not nil, no other candidate ranks better:
/// candidates are ranked by the number of conditions that they meet, and their keys are only counted if they leave some.
final class KeptKeyPlan: Sendable {
    private struct Bound {
        let comparison: FilterExpression.Comparison
        let place: KeptQuery.Place
    }

    let query: KeptQuery
    private let plan: KeyPlan
    private let layout: IndexKeyLayout
    /// The constants that the index's first attributes equal.
    private let equalities: [KeptQuery.Place]
    /// The comparisons with the attribute after them.
    private let bounds: [Bound]

    /// - Parameter plan: the plan of a query with this shape.
    /// - Returns: nil for a plan that must be made each time.
    init?(_ query: BoundQuery, _ shape: PredicateShape, _ plan: KeyPlan, _ table: KeyTable) {
        guard case .index(let number) = plan.access, plan.ranges.count == 1, plan.residual == nil, plan.examined == 0
        else { return nil }
        layout = table.indexes[number].layout
        let comparisons = shape.markedFilter.narrowingConditions.map(\.rootComparison)
        var left = comparisons.compactMap(\.self)
        guard left.count == comparisons.count else { return nil }
        let kept = KeptQuery(query, shape)
        var equalities: [KeptQuery.Place] = []
        var bounds: [Bound] = []
        for part in layout.parts {
            let own = left.filter { $0.position == part.position }
            if own.isEmpty { break }
            guard !part.isVariable else { return nil }
            left.removeAll { $0.position == part.position }
            if own.count == 1, own[0].comparison == .equal {
                equalities.append(kept.place(own[0].value))
                continue
            }
            guard !own.contains(where: { $0.comparison == .equal || $0.comparison == .notEqual }) else { return nil }
            bounds = own.map { Bound(comparison: $0.comparison, place: kept.place($0.value)) }
            break
        }
        guard left.isEmpty, equalities.count + bounds.count > 0 else { return nil }
        (self.equalities, self.bounds, self.plan, self.query) = (equalities, bounds, plan, kept)
    }

    /// The plan of a query that this one covers; nil if it must be made.
    func plan(_ query: BoundQuery, _ values: [Value], _ buffer: IndexKeyBuffer) throws -> KeyPlan? {
        guard let range = try range(values, buffer) else { return nil }
        var plan = plan
        plan.ranges = [range]
        if plan.windowIsApplied { plan.window = query.window }
        return plan
    }

    private func range(_ values: [Value], _ buffer: IndexKeyBuffer) throws -> KeyRange? {
        var prefix: [UInt8] = []
        for (place, part) in zip(equalities, layout.parts) {
            let value = place.value(values)
            let domain = KeyDomain(part, of: layout, behind: prefix, buffer)
            guard !value.isNull, let key = try domain.key(value) else { return nil }
            prefix = key.bytes
        }
        guard !bounds.isEmpty else { return KeyRange(prefix: prefix) }
        let domain = KeyDomain(layout.parts[equalities.count], of: layout, behind: prefix, buffer)
        var range: KeyRange?
        for bound in bounds {
            let value = bound.place.value(values)
            guard !value.isNull, let found = try domain.selection(bound.comparison, value), found.ranges.count == 1
            else { return nil }
            range = range?.intersection(found.ranges[0]) ?? found.ranges[0]
        }
        return range.flatMap { $0.isEmpty ? nil : $0 }
    }
}
