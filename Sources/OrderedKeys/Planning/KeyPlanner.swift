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

/// The candidates: an entity's own keys and each of its indexes.
extension KeyPlanner {
    /// The maximum number of ranges that are combined with those of the next attribute.
    private static let mostCombinedRanges = 1_000

    func recordsCandidate() throws -> KeyPlanCandidate {
        var candidate = KeyPlanCandidate(access: .records, ranges: [.all])
        let domain = KeyDomain(
            prefix: [],
            position: 0,
            kind: .uuid,
            isOptional: false,
            budget: 0,
            hasPresence: false,
            buffer: snapshot.buffer
        )
        if let found = try narrow(&candidate, domain) {
            candidate.ranges = found.ranges
            candidate.isUnique = found.isPoints
        }
        candidate.givesOrder = orderKeys.isEmpty
        candidate.isReverse = orderKeys.isEmpty && !identifierAscends
        return candidate
    }

    func candidate(_ index: KeyIndex) throws -> KeyPlanCandidate? {
        let layout = index.layout
        let first = layout.parts[0].position
        // Most indexes are irrelevant to a query, which can be decided without building keys.
        guard first == orderKeys.first?.position || conditions.contains(where: { $0.mayConcern(first) }) else {
            return nil
        }
        var candidate = KeyPlanCandidate(access: .index(index.place), ranges: [], partCount: layout.parts.count)
        candidate.holdsCopies = snapshot.completeIndexes.holdCopies(index)
        var prefix: [UInt8] = []
        var bound = 0
        while bound < layout.parts.count {
            let part = layout.parts[bound]
            guard let found = try equality(KeyDomain(part, of: layout, behind: prefix, snapshot.buffer)) else {
                break
            }
            prefix = found.prefix
            if found.isExact {
                candidate.consumed.append(found.condition)
            } else {
                candidate.used.append(found.condition)
            }
            if attributes[part.position].isUnique, found.isValue { candidate.isUnique = true }
            candidate.equalities += 1
            bound += 1
        }
        // Records without links have no key, others have several: only the keys of a single link have each record once.
        if layout.parts[bound...].contains(where: { $0.kind == .links }) { return nil }
        candidate.ranges = [KeyRange(prefix: prefix)]
        if bound < layout.parts.count { try narrow(&candidate, layout, from: bound, behind: prefix) }
        applyOrder(&candidate, layout, bound: bound, prefixLength: prefix.count)
        return candidate
    }

    /// The first condition that fixes the attribute to one value, and the prefix with that value.
    private func equality(
        _ domain: KeyDomain
    ) throws -> (prefix: [UInt8], condition: Int, isExact: Bool, isValue: Bool)? {
        for (place, condition) in conditions.enumerated() where condition.mayConcern(domain.position) {
            if domain.kind == .links {
                guard let (link, isExact) = link(condition.expression, domain.position),
                    let found = try domain.key(.uuid(link))
                else { continue }
                return (found.bytes, place, isExact, false)
            }
            guard let found = try domain.selection(condition.expression), found.isPoints, found.ranges.count == 1
            else { continue }
            let isNil = found.ranges[0].lower.dropFirst(domain.prefix.count).first == 0
            return (found.ranges[0].lower, place, found.isExact, !isNil)
        }
        return nil
    }

    /// The link that a condition requires, and whether it requires nothing else.
    private func link(_ condition: BoundExpression, _ position: Int) -> (UUID, isExact: Bool)? {
        switch condition {
        case .text(.contains, .attribute(let path, position, _, _), .literal(.uuid(let id))) where path.isRoot:
            return (id, true)
        case .some(let collection, .compare(.equal, .attribute(let path, 0, _, _), .literal(.uuid(let id))))
        where collection.path.isRoot && collection.storage == .linked(attribute: position)
            && path.variable == collection.variable && path.hops.isEmpty:
            // The linked record must exist, too.
            return (id, false)
        default: return nil
        }
    }

    /// Narrows the ranges by every condition on one attribute.
    ///
    /// - Returns: the result; nil if nothing was narrowed.
    private func narrow(
        _ candidate: inout KeyPlanCandidate,
        _ domain: KeyDomain
    ) throws -> KeyDomain.Selection? {
        var result: KeyDomain.Selection?
        var rangeConditions = 0
        for (place, condition) in conditions.enumerated()
        where condition.mayConcern(domain.position) && !candidate.consumed.contains(place)
            && !candidate.used.contains(place)
        {
            guard let found = try domain.selection(condition.expression), !found.isAll else { continue }
            result = domain.intersection(result, found)
            if found.isExact {
                candidate.consumed.append(place)
            } else {
                candidate.used.append(place)
            }
            rangeConditions += 1
        }
        guard let result else { return nil }
        if result.isPoints {
            candidate.equalities += 1
        } else {
            candidate.rangeConditions += rangeConditions
        }
        return result
    }

    /// Narrows the ranges by an attribute of the key and, as long as its ranges are single values, by the next one.
    private func narrow(
        _ candidate: inout KeyPlanCandidate,
        _ layout: IndexKeyLayout,
        from bound: Int,
        behind prefix: [UInt8]
    ) throws {
        guard
            let found = try narrow(
                &candidate,
                KeyDomain(layout.parts[bound], of: layout, behind: prefix, snapshot.buffer)
            )
        else { return }
        candidate.ranges = found.ranges
        var isPoints = found.isPoints
        for part in layout.parts[(bound + 1)...] where isPoints {
            // Counted before narrowing: a condition that was used must be part of the ranges.
            guard candidate.ranges.count <= Self.mostCombinedRanges else { return }
            var attempt = candidate
            guard let next = try narrow(&attempt, KeyDomain(part, of: layout, behind: [], snapshot.buffer)),
                next.ranges.count * candidate.ranges.count <= Self.mostCombinedRanges
            else { return }
            attempt.ranges = candidate.ranges.flatMap { range in next.ranges.map { $0.behind(range) } }
            candidate = attempt
            isPoints = next.isPoints
        }
    }

    // MARK: Order

    /// An index gives the order if the attributes after its fixed ones are the order's keys, all in one direction.
    private func applyOrder(
        _ candidate: inout KeyPlanCandidate,
        _ layout: IndexKeyLayout,
        bound: Int,
        prefixLength: Int
    ) {
        let rest = layout.parts[bound...].filter { !constants.contains($0.position) }
        guard rest.count == orderKeys.count, zip(rest, orderKeys).allSatisfy({ $0.position == $1.position }) else {
            return
        }
        let ascends = orderKeys.first?.ascending ?? identifierAscends
        guard orderKeys.allSatisfy({ $0.ascending == ascends }) else { return }
        candidate.givesOrder = true
        candidate.isReverse = !ascends
        let repair = KeyPlan.OrderRepair(
            firstPart: bound,
            start: prefixLength,
            reversesEqualKeys: ascends != identifierAscends,
            sortsCutTexts: rest.contains(where: \.isVariable)
        )
        if repair.isNeeded { candidate.repair = repair }
    }
}

/// One way to execute a query.
struct KeyPlanCandidate {
    var access: KeyPlan.Access
    var ranges: [KeyRange]
    /// The distinct positions of the conditions that the ranges meet exactly.
    var consumed: [Int] = []
    /// The positions of the conditions that narrowed the ranges but must still be evaluated.
    var used: [Int] = []
    /// Whether each range has at most one record.
    var isUnique = false
    var equalities = 0
    var rangeConditions = 0
    var isReverse = false
    var givesOrder = false
    var repair: KeyPlan.OrderRepair?
    var partCount = 0
    /// Whether the index has copies of the records, so that none must be looked up.
    var holdsCopies = false

    var isNarrowed: Bool { equalities + rangeConditions > 0 }

    /// Higher is better, as far as can be decided without reading keys.
    ///
    /// - Parameter conditions: the number of conditions.
    func rank(_ conditions: Int) -> (Int, Int, Int, Int, Int, Int) {
        (
            isUnique ? 1 : 0, equalities, rangeConditions, givesOrder ? 1 : 0,
            consumed.count == conditions ? 1 : 0, holdsCopies ? 1 : -partCount
        )
    }
}

/// One part of a conjunction, in the planner's form.
struct KeyPlanCondition {
    /// The condition in the filter; the rest of the filter consists of these.
    let original: BoundExpression
    /// The condition that indexes are asked for.
    var expression: BoundExpression { didSet { subject = Self.subject(expression) } }
    /// The attribute of the condition; nil if its form must be examined for each attribute.
    private(set) var subject: Int?
    /// The access path that found the identifiers in its place, for descriptions; nil for a condition from the filter.
    private(set) var source: String?

    init(_ condition: BoundExpression) {
        original = condition
        expression = condition
        subject = Self.subject(condition)
    }

    /// Replaces the condition with one that holds for the same records.
    ///
    /// - Parameter source: the access path that led to it.
    mutating func replace(by condition: BoundExpression, from source: String) {
        expression = condition
        self.source = source
    }

    /// The attribute that it makes constant in all results.
    var constant: Int? {
        guard subject != nil, let comparison = expression.rootComparison, comparison.comparison == .equal else {
            return nil
        }
        return comparison.position
    }

    /// Whether it bounds an attribute on one side, and so never makes it constant.
    var isBound: Bool {
        guard subject != nil, let root = expression.rootComparison, !root.value.isNull else { return false }
        switch root.comparison {
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return true
        case .equal, .notEqual: return false
        }
    }

    @inline(__always)
    func mayConcern(_ position: Int) -> Bool { subject.map { $0 == position } ?? true }

    private static func subject(_ condition: BoundExpression) -> Int? {
        switch condition {
        case .compare: return condition.rootComparison?.position
        case .isIn(.attribute(let path, let position, _, _), _) where path.isRoot: return position
        default: return nil
        }
    }
}
