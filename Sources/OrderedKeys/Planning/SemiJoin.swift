import Foundation
@_spi(Engines) import HabitStore

/// Uses the indexes of related records, or one index for each of several alternatives, to find the records that meet a condition,
/// and replaces the condition with a list of identifiers that the entity's own indexes can look up.
struct SemiJoin {
    /// The replacement for a condition.
    struct Found {
        /// Membership of one of the entity's attributes in a list; it holds for the same records.
        var condition: BoundExpression
        /// The access path that led to the list.
        var source: String
    }

    private let snapshot: any KeySnapshot
    private let entity: Int
    private let depth: Int
    /// The maximum number of identifiers that are collected, and of records that are read for each condition.
    private let most: Int

    private var attributes: [AttributeDescription] { snapshot.schema.entities[entity].attributes }

    /// - Parameters:
    ///   - entity: the fetched entity.
    ///   - depth: the number of plans that contain this one.
    ///   - most: the maximum number of identifiers to collect.
    init(_ snapshot: any KeySnapshot, _ entity: Int, depth: Int, most: Int) {
        self.snapshot = snapshot
        self.entity = entity
        self.depth = depth
        self.most = min(most, KeyPlanner.mostJoined)
    }

    /// Whether a condition has a suitable form, without reading any key.
    static func mayAnswer(_ condition: BoundExpression) -> Bool {
        if case .or = condition { return true }
        return membership(condition) != nil || condition.rebasedBehindFirstHop() != nil
    }

    /// The replacement for a condition; nil if there is none, or if it would be too long.
    ///
    /// - Parameter examined: incremented by the number of records that were read.
    func identifiers(_ condition: BoundExpression, _ examined: inout Int) throws -> Found? {
        if let (collection, inner) = Self.membership(condition) {
            return try owners(collection, inner, &examined)
        }
        if let (hop, inner) = condition.rebasedBehindFirstHop() {
            return try referring(by: hop, to: inner, unless: condition, &examined)
        }
        if case .or(let parts) = condition { return try union(parts, &examined) }
        return nil
    }

    // MARK: Forms

    /// A condition that holds if one of the related records meets another.
    private static func membership(_ condition: BoundExpression) -> (BoundCollection, BoundExpression)? {
        switch condition {
        case .some(let collection, let inner) where collection.path.isRoot: return (collection, inner)
        case .compare(let comparison, .count(let collection, let inner), .literal(.int(let number)))
        where collection.path.isRoot && isAnyOfThem(comparison, number):
            return (collection, inner)
        case .compare(let comparison, .literal(.int(let number)), .count(let collection, let inner))
        where collection.path.isRoot && isAnyOfThem(comparison.turned, number):
            return (collection, inner)
        case .not(.compare(.equal, .count(let collection, let inner), .literal(.int(0)))) where collection.path.isRoot:
            return (collection, inner)
        default: return nil
        }
    }

    /// Whether a comparison of a count is equivalent to asking for one or more.
    private static func isAnyOfThem(_ comparison: FilterExpression.Comparison, _ number: Int64) -> Bool {
        switch comparison {
        case .greater, .notEqual: number == 0
        case .greaterOrEqual: number == 1
        case .equal, .less, .lessOrEqual: false
        }
    }

    // MARK: Answers

    /// For a condition that holds for records whose reference leads to a record that meets `inner`.
    private func referring(
        by hop: BoundPath.Hop,
        to inner: BoundExpression,
        unless condition: BoundExpression,
        _ examined: inout Int
    ) throws -> Found? {
        // The condition must not hold for records without a reference.
        guard try !holdsForNothing(condition),
            let plan = try plan(hop.destination, inner, &examined),
            let ids = try gather(plan, position: 0, &examined)
        else { return nil }
        return Found(
            condition: .isIn(.rootAttribute(hop.attribute, attributes[hop.attribute]), ids.map { .uuid($0) }),
            source: plan.accessPath
        )
    }

    private func holdsForNothing(_ condition: BoundExpression) throws -> Bool {
        #if PLANNER_MUTANTS
        if snapshot.mutant == .joinLosesRecordsWithoutReference { return false }
        #endif
        return try FilterEvaluator(NoRecords()).matches(condition, NoRecord())
    }

    /// For a condition that holds for records with a related record that meets `inner`.
    private func owners(
        _ collection: BoundCollection,
        _ inner: BoundExpression,
        _ examined: inout Int
    ) throws -> Found? {
        guard let inner = inner.rebased(fromMembersOf: collection) else { return nil }
        var ids: [UUID]?
        var source: String
        switch collection.storage {
        case .linked(let attribute):
            guard let plan = try plan(collection.destination, inner, &examined),
                let linked = try gather(plan, position: 0, &examined)
            else { return nil }
            source = plan.accessPath
            if linked.count == 1 {
                let links = BoundExpression.rootAttribute(attribute, attributes[attribute])
                return Found(condition: .text(.contains, links, .literal(.uuid(linked[0]))), source: source)
            }
            guard let index = snapshot.index(entity, beginningWith: attribute) else { return nil }
            source = "\(snapshot.path(index)) by \(source)"
            ids = try owners(linkingTo: linked, by: index)
        case .referring(let attribute), .linking(let attribute):
            if inner.isAlwaysTrue, let index = snapshot.index(collection.destination, beginningWith: attribute) {
                source = snapshot.path(index)
                ids = try snapshot.firstIdentifiers(in: index, of: collection.destination, atMost: most)
            } else {
                guard let plan = try plan(collection.destination, inner, &examined) else { return nil }
                source = plan.accessPath
                ids = try gather(plan, position: attribute, &examined)
            }
        }
        return ids.map { found(own: $0, source) }
    }

    /// The distinct identifiers of the records that link to one of several, ascending; nil if there are too many.
    private func owners(linkingTo links: [UUID], by index: KeyIndex) throws -> [UUID]? {
        let ranges = links.map { link in KeyRange(prefix: [1] + withUnsafeBytes(of: link.uuid) { Array($0) }) }
        let ids = try snapshot.identifiers(.index(index.place), ranges, entity, atMost: most + 1)
        return ids.count <= most ? Self.sorted(ids) : nil
    }

    /// For a condition that holds for records that meet one of the parts.
    private func union(_ parts: [BoundExpression], _ examined: inout Int) throws -> Found? {
        var ids: [UUID] = []
        var sources: [String] = []
        var parts = parts
        #if PLANNER_MUTANTS
        if snapshot.mutant == .unionLosesLastBranch { parts.removeLast() }
        #endif
        // All parts are planned before one is walked: unless each has an index, this does not pay.
        var plans: [KeyPlan] = []
        for part in parts {
            guard let plan = try plan(entity, part, &examined), plan.isNarrowed else { return nil }
            plans.append(plan)
        }
        for plan in plans {
            guard let found = try gather(plan, position: 0, &examined), ids.count + found.count <= most else {
                return nil
            }
            ids += found
            if !sources.contains(plan.accessPath) { sources.append(plan.accessPath) }
        }
        return found(own: Self.sorted(ids), sources.joined(separator: " or "))
    }

    private func found(own ids: [UUID], _ source: String) -> Found {
        Found(condition: .isIn(.rootAttribute(0, attributes[0]), ids.map { .uuid($0) }), source: source)
    }

    // MARK: Gathering

    /// The plan for a condition on another entity's records; nil if it leads to too many of them.
    private func plan(_ entity: Int, _ condition: BoundExpression, _ examined: inout Int) throws -> KeyPlan? {
        let plan = try snapshot.plan(unordered(entity, condition), depth: depth + 1)
        examined += plan.examined
        let count = try snapshot.countKeys(plan.access, plan.ranges, plan.entity, upTo: most + 1)
        return count <= most ? plan : nil
    }

    private func unordered(_ entity: Int, _ condition: BoundExpression) -> BoundQuery {
        var query = BoundQuery(entity: entity, filter: condition)
        query.isUnordered = true
        return query
    }

    /// The distinct identifiers in an attribute of a plan's results, ascending; nil if there are too many.
    private func gather(_ plan: KeyPlan, position: Int, _ examined: inout Int) throws -> [UUID]? {
        if position == 0, plan.residual == nil {
            return Self.sorted(try snapshot.identifiers(plan.access, plan.ranges, plan.entity, atMost: Int.max))
        }
        var ids: [UUID] = []
        let records = FollowedRecords(snapshot)
        let filter = plan.residual.map { residual in
            CompiledFilter(
                residual,
                entity: plan.entity,
                schema: snapshot.schema,
                records: records,
                recordsMayChange: false
            )
        }
        var isWithinLimit = true
        try snapshot.walk(plan) { row in
            examined += 1
            if let filter, try !filter.matches(&row) { return true }
            switch position == 0 ? .uuid(try row.identifier()) : try row.value(at: position) {
            case .uuid(let id): ids.append(id)
            case .links(let links): ids += links
            default: break
            }
            isWithinLimit = ids.count <= most
            return isWithinLimit
        }
        examined += records.followed
        return isWithinLimit ? Self.sorted(ids) : nil
    }

    static func sorted(_ ids: [UUID]) -> [UUID] {
        var result: [UUID] = []
        result.reserveCapacity(ids.count)
        for id in ids.sorted(by: { $0.isBefore($1) }) where result.last != id { result.append(id) }
        return result
    }
}

/// Follows relationships inside a snapshot.
final class FollowedRecords: RelatedRecords {
    private let snapshot: any KeySnapshot
    /// The number of followed records.
    private(set) var followed = 0

    init(_ snapshot: any KeySnapshot) { self.snapshot = snapshot }

    func withRelated(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        followed += 1
        return try snapshot.withRow(entity: entity, id: id, body) != nil
    }

    func identifiers(entity: Int, attribute: Int, referringTo id: UUID, limit: Int?) throws -> [UUID] {
        try snapshot.identifiers(entity: entity, attribute: attribute, equalTo: .uuid(id), limit: limit)
    }
}

/// A record whose references lead to no record.
private struct NoRecord: RecordAccess {
    func value(at position: Int) throws -> Value { .null }
}

/// A store without records.
private struct NoRecords: RelatedRecords {
    func withRelated(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool { false }
    func identifiers(entity: Int, attribute: Int, referringTo id: UUID, limit: Int?) throws -> [UUID] { [] }
}

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
