import Foundation
@_spi(Engines) import HabitStore

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
