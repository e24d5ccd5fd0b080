import Foundation
import HabitStore

/// Finds the plan for a query: of the entity's own keys and its indexes the one whose keys most conditions bind.
struct LMDBPlanner {
    /// One way to go about the query.
    private struct Candidate {
        var access: LMDBPlan.Access
        var ranges: [LMDBKeyRange]
        /// The conditions that the ranges fulfil exactly, each once.
        var consumed: [Int] = []
        /// At most one record for each range.
        var isUnique = false
        var equalities = 0
        var rangeConditions = 0
        var isReverse = false
        var givesOrder = false
        var repair: LMDBPlan.OrderRepair?
        var partCount = 0

        var isNarrowed: Bool { equalities + rangeConditions > 0 }

        func rank(_ conditions: Int) -> (Int, Int, Int, Int, Int, Int) {
            (
                isUnique ? 1 : 0, equalities, rangeConditions, givesOrder ? 1 : 0,
                consumed.count == conditions ? 1 : 0, -partCount
            )
        }
    }

    private let table: LMDBCatalog.Table
    private let query: BoundQuery
    private let attributes: [AttributeDescription]
    private let indexes: [LMDBCatalog.Index]
    private let buffer: LMDBIndexKeyBuffer
    /// What must hold and may be used; all of the filter unless something in it can fail.
    private let conditions: [BoundExpression]
    private let hasAllConditions: Bool
    /// For each condition the attribute that it is about; nil when its shape has to be looked at for each attribute.
    private let subjects: [Int?]
    /// The keys of the order before the identifier, without those that all results agree on.
    private let orderKeys: [BoundQuery.SortKey]
    private let identifierAscends: Bool
    private let constants: Set<Int>

    /// - Parameter indexes: those of the entity that are complete.
    init(
        _ query: BoundQuery,
        _ catalog: LMDBCatalog,
        indexes: [LMDBCatalog.Index],
        buffer: LMDBIndexKeyBuffer
    ) {
        self.query = query
        self.indexes = indexes
        self.buffer = buffer
        table = catalog.tables[query.entity]
        attributes = catalog.schema.entities[query.entity].attributes
        conditions = query.filter.narrowingConditions.flatMap(Self.flattened).filter { !$0.isAlwaysTrue }
        hasAllConditions = !query.filter.canFail
        subjects = conditions.map(Self.subject)
        let constants = Set(conditions.compactMap(Self.constant))
        self.constants = constants
        let keys = query.order.prefix { $0.position != 0 }
        orderKeys = keys.filter { !constants.contains($0.position) }
        identifierAscends = query.order.first { $0.position == 0 }?.ascending ?? true
    }

    private static func flattened(_ condition: BoundExpression) -> [BoundExpression] {
        guard case .and(let parts) = condition else { return [condition] }
        return parts.flatMap(flattened)
    }

    /// The attribute that a condition fixes for all results.
    private static func constant(_ condition: BoundExpression) -> Int? {
        guard let comparison = condition.rootComparison, comparison.comparison == .equal else { return nil }
        return comparison.position
    }

    private static func subject(_ condition: BoundExpression) -> Int? {
        switch condition {
        case .compare: return condition.rootComparison?.position
        case .isIn(.attribute(let path, let position, _, _), _) where path.isRoot: return position
        default: return nil
        }
    }

    private func mayConcern(_ place: Int, _ position: Int) -> Bool {
        guard let subject = subjects[place] else { return true }
        return subject == position
    }

    // MARK: Choosing

    func plan() throws -> LMDBPlan {
        guard !conditions.contains(.literal(.bool(false))) else { return nothing }
        var best = try recordsCandidate()
        if !mustWalkByIdentifier {
            for index in indexes {
                guard let candidate = try candidate(index), isWorthwhile(candidate) else { continue }
                if best.rank(conditions.count) < candidate.rank(conditions.count) {
                    best = candidate
                }
            }
        }
        return best.ranges.isEmpty ? nothing : plan(best)
    }

    /// Where evaluating a record can fail, and a limit may end the walk before that record, the order in which records
    /// are looked at decides whether it fails: then it has to be the query's.
    private var canFailBehindLimit: Bool {
        query.limit != nil && (query.filter.canFail || query.hasOpaqueCondition)
    }

    private var mustWalkByIdentifier: Bool {
        canFailBehindLimit && query.order.first == BoundQuery.SortKey(position: 0, ascending: true)
    }

    /// An index that narrows nothing costs a lookup for each record; that pays only for its order.
    private func isWorthwhile(_ candidate: Candidate) -> Bool {
        candidate.isNarrowed || (candidate.givesOrder && (query.limit != nil || query.filter.isAlwaysTrue))
    }

    private var nothing: LMDBPlan {
        LMDBPlan(
            entity: query.entity,
            access: .nothing,
            ranges: [],
            isReverse: false,
            repair: nil,
            order: query.order,
            residual: nil,
            orderIsExact: true,
            accessPath: "no record of \(table.name)"
        )
    }

    private func plan(_ candidate: Candidate) -> LMDBPlan {
        let isExact = hasAllConditions && candidate.consumed.count == conditions.count
        let givesOrder = candidate.givesOrder && (!canFailBehindLimit || mustWalkByIdentifier)
        return LMDBPlan(
            entity: query.entity,
            access: candidate.access,
            ranges: candidate.ranges,
            isReverse: givesOrder && candidate.isReverse,
            repair: givesOrder ? candidate.repair : nil,
            order: query.order,
            residual: isExact ? nil : query.filter,
            orderIsExact: givesOrder,
            accessPath: accessPath(candidate, isExact: isExact)
        )
    }

    private func accessPath(_ candidate: Candidate, isExact: Bool) -> String {
        switch candidate.access {
        case .nothing, .records: return "\(candidate.isNarrowed ? "primary key" : "scan") \(table.name)"
        case .index(let place):
            let title = "index \(table.indexes[place].title)"
            // In its order, and only as far as the limit: the others are not looked at.
            return candidate.isNarrowed || (isExact && query.limit != nil) ? title : "scan \(table.name) by \(title)"
        }
    }

    // MARK: Candidates

    private func recordsCandidate() throws -> Candidate {
        var candidate = Candidate(access: .records, ranges: [.all])
        let domain = LMDBKeyDomain(
            prefix: [],
            position: 0,
            kind: .uuid,
            isOptional: false,
            budget: 0,
            hasPresence: false,
            buffer: buffer
        )
        try narrow(&candidate, domain)
        if candidate.equalities > 0 { candidate.isUnique = true }
        candidate.givesOrder = orderKeys.isEmpty
        candidate.isReverse = orderKeys.isEmpty && !identifierAscends
        return candidate
    }

    private func candidate(_ index: LMDBCatalog.Index) throws -> Candidate? {
        let layout = index.layout
        let first = layout.parts[0].position
        // Most indexes have nothing to do with a query; that is told without making keys.
        guard first == orderKeys.first?.position || conditions.indices.contains(where: { mayConcern($0, first) }) else {
            return nil
        }
        var candidate = Candidate(access: .index(index.place), ranges: [], partCount: layout.parts.count)
        var prefix: [UInt8] = []
        var bound = 0
        while bound < layout.parts.count {
            guard let found = try equality(domain(prefix, layout.parts[bound], layout)) else { break }
            prefix = found.prefix
            if found.isExact { candidate.consumed.append(found.condition) }
            if attributes[layout.parts[bound].position].isUnique, found.isValue { candidate.isUnique = true }
            candidate.equalities += 1
            bound += 1
        }
        // Records without links have no key, others have several: only one link's keys are each record's once.
        if layout.parts[bound...].contains(where: { $0.kind == .links }) { return nil }
        candidate.ranges = [LMDBKeyRange(prefix: prefix)]
        if bound < layout.parts.count {
            try narrow(&candidate, domain(prefix, layout.parts[bound], layout))
        }
        applyOrder(&candidate, layout, bound: bound, prefixLength: prefix.count)
        return candidate
    }

    private func domain(
        _ prefix: [UInt8],
        _ part: LMDBIndexKeyLayout.Part,
        _ layout: LMDBIndexKeyLayout
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

    /// The first condition that fixes the attribute to one value, and the prefix with that value.
    private func equality(
        _ domain: LMDBKeyDomain
    ) throws -> (prefix: [UInt8], condition: Int, isExact: Bool, isValue: Bool)? {
        for (place, condition) in conditions.enumerated() where mayConcern(place, domain.position) {
            if domain.kind == .links {
                guard let (link, isExact) = link(condition, domain.position), let found = try domain.key(.uuid(link))
                else { continue }
                return (found.bytes, place, isExact, false)
            }
            guard let found = try domain.selection(condition), found.isPoints, found.ranges.count == 1 else {
                continue
            }
            let isNil = found.ranges[0].lower.dropFirst(domain.prefix.count).first == 0
            return (found.ranges[0].lower, place, found.isExact, !isNil)
        }
        return nil
    }

    /// The link that a condition asks for, and whether it asks for nothing else.
    private func link(_ condition: BoundExpression, _ position: Int) -> (UUID, isExact: Bool)? {
        switch condition {
        case .text(.contains, .attribute(let path, position, _, _), .literal(.uuid(let id))) where path.isRoot:
            return (id, true)
        case .some(let collection, .compare(.equal, .attribute(let path, 0, _, _), .literal(.uuid(let id))))
        where collection.path.isRoot && collection.storage == .linked(attribute: position)
            && path.variable == collection.variable && path.hops.isEmpty:
            // The linked record has to exist, too.
            return (id, false)
        default: return nil
        }
    }

    /// Narrows the ranges by every condition on the attribute.
    private func narrow(_ candidate: inout Candidate, _ domain: LMDBKeyDomain) throws {
        var result: LMDBKeyDomain.Selection?
        for (place, condition) in conditions.enumerated()
        where mayConcern(place, domain.position) && !candidate.consumed.contains(place) {
            guard let found = try domain.selection(condition), let both = try domain.intersection(result, found) else {
                continue
            }
            result = both
            if found.isExact { candidate.consumed.append(place) }
            candidate.rangeConditions += 1
        }
        guard let result, result.ranges != [.all] else {
            candidate.rangeConditions = 0
            return
        }
        candidate.ranges = result.ranges
        if result.isPoints {
            candidate.equalities += 1
            candidate.rangeConditions = 0
        }
    }

    // MARK: Order

    /// An index gives the order when what follows its fixed attributes is the order's keys, all in one direction.
    private func applyOrder(
        _ candidate: inout Candidate,
        _ layout: LMDBIndexKeyLayout,
        bound: Int,
        prefixLength: Int
    ) {
        let rest = layout.parts[bound...].filter { !constants.contains($0.position) }
        guard rest.map(\.position) == orderKeys.map(\.position) else { return }
        let ascends = orderKeys.first?.ascending ?? identifierAscends
        guard orderKeys.allSatisfy({ $0.ascending == ascends }) else { return }
        candidate.givesOrder = true
        candidate.isReverse = !ascends
        let repair = LMDBPlan.OrderRepair(
            firstPart: bound,
            start: prefixLength,
            reversesEqualKeys: ascends != identifierAscends,
            sortsCutTexts: rest.contains(where: \.isVariable)
        )
        if repair.isNeeded { candidate.repair = repair }
    }
}
