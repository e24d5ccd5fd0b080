import HabitStore

/// What of a plan depends on nothing but the shape of its query, and where each constant goes in the one range of its keys.
///
/// Such a plan walks an index of which all conditions fix the first attributes and bound the next one, none of them a text.
/// Whatever the constants are, as long as they are of the attributes' kinds and not nil, no other way is found to be better:
/// ways are ranked by how many conditions they fulfil, and counted only where they leave some of them.
final class LMDBKeptPlan: Sendable {
    private enum Place {
        case fixed(Value)
        case constant(Int)
    }

    private struct Bound {
        let comparison: FilterExpression.Comparison
        let place: Place
    }

    /// Kept, so that no other shape can take its place in memory.
    let shape: PredicateShape
    /// Without the filter's own constants.
    private let query: BoundQuery
    private let plan: LMDBPlan
    private let layout: LMDBIndexKeyLayout
    /// What the index's first attributes equal.
    private let equalities: [Place]
    /// What the one behind them is compared with.
    private let bounds: [Bound]

    /// - Parameter plan: the plan of a query with this shape.
    /// - Returns: nil for a plan that has to be made each time.
    init?(_ query: BoundQuery, _ shape: PredicateShape, _ plan: LMDBPlan, _ table: LMDBCatalog.Table) {
        guard case .index(let number) = plan.access, plan.ranges.count == 1, plan.residual == nil, plan.examined == 0
        else { return nil }
        layout = table.indexes[number].layout
        let comparisons = shape.markedFilter.narrowingConditions.map(\.rootComparison)
        var left = comparisons.compactMap(\.self)
        guard left.count == comparisons.count else { return nil }
        func place(_ value: Value) -> Place { shape.marks.firstIndex(of: value).map(Place.constant) ?? .fixed(value) }
        var equalities: [Place] = []
        var bounds: [Bound] = []
        for part in layout.parts {
            let own = left.filter { $0.position == part.position }
            if own.isEmpty { break }
            guard !part.isVariable else { return nil }
            left.removeAll { $0.position == part.position }
            if own.count == 1, own[0].comparison == .equal {
                equalities.append(place(own[0].value))
                continue
            }
            guard !own.contains(where: { $0.comparison == .equal || $0.comparison == .notEqual }) else { return nil }
            bounds = own.map { Bound(comparison: $0.comparison, place: place($0.value)) }
            break
        }
        guard left.isEmpty, equalities.count + bounds.count > 0 else { return nil }
        (self.equalities, self.bounds, self.shape) = (equalities, bounds, shape)
        self.plan = plan
        var query = query
        query.filter = shape.markedFilter
        self.query = query
    }

    /// Whether another query of the shape differs in nothing but constants and the window's ends.
    func isFor(_ other: BoundQuery) -> Bool {
        query.entity == other.entity && query.order == other.order && query.projection == other.projection
            && query.isUnordered == other.isUnordered && (query.limit == nil) == (other.limit == nil)
            && (query.offset > 0) == (other.offset > 0) && query.hasOpaqueCondition == other.hasOpaqueCondition
            && query.mayFail == other.mayFail
    }

    /// The plan of such a query; nil when it has to be made.
    func plan(_ query: BoundQuery, _ values: [Value], _ buffer: LMDBIndexKeyBuffer) throws -> LMDBPlan? {
        guard let range = try range(values, buffer) else { return nil }
        var plan = plan
        plan.ranges = [range]
        if plan.windowIsApplied { (plan.offset, plan.limit) = (query.offset, query.limit) }
        return plan
    }

    private func range(_ values: [Value], _ buffer: LMDBIndexKeyBuffer) throws -> LMDBKeyRange? {
        var prefix: [UInt8] = []
        for (place, part) in zip(equalities, layout.parts) {
            let value = Self.value(place, values)
            guard !value.isNull, let key = try domain(prefix, part, buffer).key(value) else { return nil }
            prefix = key.bytes
        }
        guard !bounds.isEmpty else { return LMDBKeyRange(prefix: prefix) }
        let domain = domain(prefix, layout.parts[equalities.count], buffer)
        var range: LMDBKeyRange?
        for bound in bounds {
            let value = Self.value(bound.place, values)
            guard !value.isNull, let found = try domain.selection(bound.comparison, value), found.ranges.count == 1
            else { return nil }
            range = range?.intersection(found.ranges[0]) ?? found.ranges[0]
        }
        return range.flatMap { $0.isEmpty ? nil : $0 }
    }

    private func domain(
        _ prefix: [UInt8],
        _ part: LMDBIndexKeyLayout.Part,
        _ buffer: LMDBIndexKeyBuffer
    ) -> LMDBKeyDomain {
        LMDBKeyDomain(
            prefix: prefix,
            position: part.position,
            kind: part.kind,
            isOptional: part.isOptional,
            budget: layout.budget,
            hasPresence: true,
            buffer: buffer
        )
    }

    private static func value(_ place: Place, _ values: [Value]) -> Value {
        switch place {
        case .fixed(let value): value
        case .constant(let number): values[number]
        }
    }
}
