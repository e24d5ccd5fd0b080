import Foundation
@_spi(Engines) import HabitStore

/// Plans a query: chooses, among the entity's own keys and its indexes, the one whose keys most conditions bind. Conditions on
/// related records can be answered by indexes of other entities.
struct KeyPlanner {
    let snapshot: any KeySnapshot
    let table: KeyTable
    let query: BoundQuery
    let attributes: [AttributeDescription]
    let indexes: [KeyIndex]
    /// The number of plans that contain this one.
    let depth: Int
    /// The conditions that must hold and may be used; the whole filter, unless a part of it can fail.
    var conditions: [KeyPlanCondition]
    private let hasAllConditions: Bool
    /// The sort keys before the identifier, without those that are equal in all results.
    private(set) var orderKeys: [BoundQuery.SortKey]
    let identifierAscends: Bool
    private(set) var constants: [Int]

    /// Up to this many keys, two indexes are compared by counting.
    private static let mostCompared = 256
    /// A record lookup costs as much as reading this many adjacent records.
    static let lookupCost = 2

    /// - Parameters:
    ///   - indexes: the complete indexes of the entity.
    ///   - depth: the number of plans that contain this one.
    init(_ query: BoundQuery, _ snapshot: any KeySnapshot, indexes: [KeyIndex], depth: Int) {
        self.query = query
        self.snapshot = snapshot
        self.indexes = indexes
        self.depth = depth
        table = snapshot.keyTables.tables[query.entity]
        attributes = snapshot.schema.entities[query.entity].attributes
        conditions = Self.conditions(query, snapshot)
        hasAllConditions = !query.filter.canFail
        constants = conditions.compactMap(\.constant)
        identifierAscends = query.order.first { $0.position == 0 }?.ascending ?? true
        orderKeys = []
        resolveOrder()
    }

    private static func conditions(_ query: BoundQuery, _ snapshot: any KeySnapshot) -> [KeyPlanCondition] {
        var conditions: [KeyPlanCondition] = []
        for condition in query.filter.narrowingConditions { append(condition, to: &conditions) }
        #if PLANNER_MUTANTS
        if let mutant = snapshot.mutant { mutant.plant(in: &conditions, query, snapshot.schema) }
        #endif
        return conditions
    }

    private static func append(_ condition: BoundExpression, to conditions: inout [KeyPlanCondition]) {
        if case .and(let parts) = condition {
            for part in parts { append(part, to: &conditions) }
        } else if !condition.isAlwaysTrue {
            conditions.append(KeyPlanCondition(condition))
        }
    }

    private mutating func resolveOrder() {
        orderKeys = query.order.prefix { $0.position != 0 }.filter { !constants.contains($0.position) }
    }

    /// Replaces a condition with another; see ``SemiJoin``.
    mutating func replace(_ place: Int, by found: SemiJoin.Found) {
        conditions[place].replace(by: found.condition, from: found.source)
        if let constant = conditions[place].constant { constants.append(constant) }
        resolveOrder()
    }

    // MARK: Choosing

    func plan() throws -> KeyPlan {
        if conditions.contains(where: { if case .literal(.bool(false)) = $0.expression { true } else { false } }) {
            return nothing()
        }
        let best = try best()
        if best.ranges.isEmpty { return nothing() }
        return try joined(insteadOf: best) ?? plan(best)
    }

    /// The best candidate, by rank and, if that is not enough, by the number of keys.
    func best() throws -> KeyPlanCandidate {
        var best = try recordsCandidate()
        for index in indexes where !isBeaten(index, by: best) {
            guard let candidate = try candidate(index), isWorthwhile(candidate) else { continue }
            if try isBetter(candidate, than: best) { best = candidate }
        }
        return best
    }

    /// Whether an index can be skipped: the best candidate so far answers everything and fixes an attribute, and this index cannot
    /// fix any, which ranks before everything else.
    private func isBeaten(_ index: KeyIndex, by best: KeyPlanCandidate) -> Bool {
        guard best.equalities > 0, best.consumed.count == conditions.count else { return false }
        let first = index.layout.parts[0].position
        return conditions.allSatisfy { !$0.mayConcern(first) || $0.isBound }
    }

    /// An index that narrows nothing costs a lookup for each record, unless it has copies; it only pays for its order.
    private func isWorthwhile(_ candidate: KeyPlanCandidate) -> Bool {
        candidate.isNarrowed
            || (candidate.givesOrder && !query.mayFail
                && (query.limit != nil || query.filter.isAlwaysTrue || candidate.holdsCopies))
    }

    private func isBetter(_ candidate: KeyPlanCandidate, than best: KeyPlanCandidate) throws -> Bool {
        if try narrowsMore(candidate, than: best) ?? false { return true }
        if try narrowsMore(best, than: candidate) ?? false { return false }
        return best.rank(conditions.count) < candidate.rank(conditions.count)
    }

    /// Whether one of two candidates, neither of which covers the other, leads to fewer keys or to adjacent records; nil if their
    /// ranks decide.
    private func narrowsMore(_ candidate: KeyPlanCandidate, than other: KeyPlanCandidate) throws -> Bool? {
        guard candidate.isNarrowed, other.isNarrowed, !candidate.isUnique, !other.isUnique,
            candidate.consumed.count < conditions.count, other.consumed.count < conditions.count,
            !candidate.consumed.allSatisfy({ other.consumed.contains($0) }) || !candidate.used.isEmpty,
            candidate.givesOrder == other.givesOrder || query.limit == nil || query.mayFail
        else { return nil }
        let few = try snapshot.countKeys(candidate.access, candidate.ranges, query.entity, upTo: Self.mostCompared)
        guard few < Self.mostCompared else { return nil }
        // The number of keys above which the other candidate costs more.
        let most = few * (candidate.holdsCopies ? 1 : Self.lookupCost) / (other.holdsCopies ? 1 : Self.lookupCost)
        return try most < snapshot.countKeys(other.access, other.ranges, query.entity, upTo: most + 1)
    }

    // MARK: Plans

    func nothing(examined: Int = 0) -> KeyPlan {
        KeyPlan(
            entity: query.entity,
            access: .nothing,
            ranges: [],
            isNarrowed: true,
            isReverse: false,
            order: query.order,
            examined: examined,
            orderIsExact: true,
            path: KeyAccessPath(entity: table.name, isEmpty: true)
        )
    }

    func plan(_ candidate: KeyPlanCandidate, examined: Int = 0) -> KeyPlan {
        let residual = residual(candidate)
        let sortsIdentifiers = sortsIdentifiers(candidate)
        var plan = KeyPlan(
            entity: query.entity,
            access: candidate.access,
            ranges: candidate.ranges,
            isNarrowed: candidate.isNarrowed,
            isReverse: candidate.givesOrder && candidate.isReverse,
            repair: candidate.givesOrder ? candidate.repair : nil,
            order: query.order,
            sortsIdentifiers: sortsIdentifiers,
            examined: examined,
            residual: residual,
            orderIsExact: candidate.givesOrder || sortsIdentifiers,
            path: path(candidate, isExact: residual == nil)
        )
        if residual == nil, plan.orderIsExact, !query.hasOpaqueCondition, !query.mayFail {
            plan.window = query.window
            plan.windowIsApplied = !query.window.isWhole
            plan.lendsIdentifiersOnly = query.projection == [0]
            plan.lendsKeysOnly = holdsProjection(candidate)
        }
        #if PLANNER_MUTANTS
        if let mutant = snapshot.mutant { mutant.plant(in: &plan, query) }
        #endif
        return plan
    }

    /// Whether the index's keys, which are in the query's order, contain all attributes that rows are read for.
    private func holdsProjection(_ candidate: KeyPlanCandidate) -> Bool {
        guard case .index(let place) = candidate.access, candidate.givesOrder, candidate.repair == nil,
            let projection = query.projection
        else { return false }
        return projection.allSatisfy { KeyRow.holds($0, table.indexes[place].layout) }
    }

    /// Whether the candidates come from an index and are ordered only by their identifiers, which the keys contain, so that these
    /// are sorted instead of records.
    private func sortsIdentifiers(_ candidate: KeyPlanCandidate) -> Bool {
        guard case .index = candidate.access else { return false }
        return !candidate.givesOrder && orderKeys.isEmpty && !query.mayFail && !query.isUnordered
            && snapshot.readsRecordsLater
    }

    /// The conditions that the ranges do not already meet.
    private func residual(_ candidate: KeyPlanCandidate) -> BoundExpression? {
        guard hasAllConditions else { return query.filter }
        guard candidate.consumed.count < conditions.count else { return nil }
        if candidate.consumed.isEmpty { return query.filter }
        let left = conditions.indices.filter { !candidate.consumed.contains($0) }.map { conditions[$0].original }
        return left.count == 1 ? left[0] : .and(left)
    }

    private func path(_ candidate: KeyPlanCandidate, isExact: Bool) -> KeyAccessPath {
        var path = KeyAccessPath(entity: table.name, isNarrowed: candidate.isNarrowed)
        if case .index(let place) = candidate.access {
            let index = table.indexes[place]
            path.index = (index.title, snapshot.completeIndexes.holdCopies(index))
            path.stopsAtLimit = isExact && query.limit != nil
        }
        if conditions.contains(where: { $0.source != nil }) {
            path.sources = (candidate.consumed + candidate.used).sorted().compactMap { conditions[$0].source }
        }
        return path
    }
}
