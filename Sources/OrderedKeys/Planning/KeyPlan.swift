import Foundation
@_spi(Engines) import HabitStore
import Synchronization

/// How to execute a query: which keys of which database are walked, and what is left to do.
@_spi(Engines) public struct KeyPlan: EnginePlan, Sendable {
    /// The source of the candidates.
    package enum Access: Equatable {
        /// No record can meet the filter.
        case nothing
        /// The records themselves, by identifier.
        case records
        /// The index at this position among the entity's.
        case index(Int)
    }

    /// How to put an index's keys into the query's order.
    package struct OrderRepair: Equatable {
        /// The first attribute of the key that the order includes, and its offset in the key.
        var firstPart: Int
        var start: Int
        /// Whether identifiers within equal keys come in the opposite direction of the walk.
        var reversesEqualKeys: Bool
        /// Whether records whose key has a truncated text are sorted among those with the same key.
        var sortsCutTexts: Bool

        var isNeeded: Bool { reversesEqualKeys || sortsCutTexts }
    }

    package let entity: Int
    package var access: Access
    /// Disjoint and ascending.
    package var ranges: [KeyRange]
    /// Whether conditions narrowed these ranges, so that the plan does not visit every record.
    package let isNarrowed: Bool
    package let isReverse: Bool
    package var repair: OrderRepair?
    package let order: [BoundQuery.SortKey]
    /// The candidates to return.
    package var window = FetchWindow()
    /// Whether the identifiers of all keys are collected and sorted before the first record is read.
    package var sortsIdentifiers = false
    /// Whether rows are read only for their identifiers.
    package var lendsIdentifiersOnly = false
    /// Whether the keys contain everything that rows are read for.
    package var lendsKeysOnly = false
    /// The number of records, of any entity, that were read to make this plan.
    package var examined = 0

    /// Whether all records are returned in the order of their identifiers.
    package var isWholeScan: Bool {
        access == .records && !isReverse && window.isWhole && ranges.count == 1 && ranges[0].isAll
    }

    /// The part of the filter that is left.
    public var residual: BoundExpression?
    /// Whether candidates come in the query's order.
    public let orderIsExact: Bool
    /// Whether offset and limit are applied to keys, before records are read.
    public var windowIsApplied = false
    /// Whether anything must be sorted, even if only identifiers.
    public var sortsInMemory: Bool { !orderIsExact || sortsIdentifiers }
    /// A description of the access path; it begins with `scan` if every record of the entity is visited.
    public var accessPath: String { path.description }
    let path: KeyAccessPath
}

/// The access path of a plan, from which its description is made on request.
struct KeyAccessPath {
    /// The entity's name.
    let entity: String
    /// The title of the index that is walked, and whether it contains copies; nil for the records themselves.
    var index: (title: String, holdsCopies: Bool)?
    /// Whether the plan does not visit every record.
    var isNarrowed = true
    /// Whether an index is walked only up to the limit.
    var stopsAtLimit = false
    /// The access paths that found the identifiers of the records.
    var sources: [String] = []
    /// Whether there is nothing to find.
    var isEmpty = false

    /// The description; it begins with `scan` if every record of the entity is visited.
    var description: String {
        if isEmpty { return "no record of \(entity)" }
        var path = "\(isNarrowed ? "primary key" : "scan") \(entity)"
        if let index {
            let title = index.holdsCopies ? "clustering index \(index.title)" : "index \(index.title)"
            // In the index's order, and only up to the limit: the rest is not visited.
            path = isNarrowed || stopsAtLimit ? title : "scan \(entity) by \(title)"
        }
        if !sources.isEmpty { path += " by " + sources.joined(separator: " and ") }
        return path
    }
}

/// Consecutive keys that are equal except for their identifiers, or up to a truncated text: a run is collected, put in the query's
/// order, and passed on.
package struct KeyRun {
    /// An entry: its record's identifier, and the copy in the index, empty if there is none.
    package struct Member {
        package let id: UUID
        package let copy: UnsafeRawBufferPointer

        package init(id: UUID, copy: UnsafeRawBufferPointer) { (self.id, self.copy) = (id, copy) }
    }

    private let repair: KeyPlan.OrderRepair
    private let order: [BoundQuery.SortKey]
    private var members: [Member] = []
    private var isCut = false
    private var shared: [UInt8] = []

    /// - Parameter plan: one whose order needs a repair.
    package init(_ plan: KeyPlan, _ repair: KeyPlan.OrderRepair) {
        self.repair = repair
        order = plan.order
    }

    /// The part that the keys of a run have in common.
    package struct Beginning {
        fileprivate let shared: UnsafeRawBufferPointer
        /// Whether it ends with a truncated text.
        fileprivate let isCut: Bool
    }

    /// The part that a key shares with the others of its run, valid as long as the key.
    package func beginning(of key: UnsafeRawBufferPointer, _ layout: IndexKeyLayout) throws -> Beginning {
        let cut =
            repair.sortsCutTexts ? try layout.endOfFirstCut(key, from: repair.firstPart, at: repair.start) : nil
        let length = cut ?? key.count - KeyFormat.identifierLength
        return Beginning(shared: UnsafeRawBufferPointer(rebasing: key[..<length]), isCut: cut != nil)
    }

    /// Adds an entry to the run.
    ///
    /// - Returns: false, without adding it, if it belongs to another run: the current one must then be passed on, and a new one
    ///   begun.
    package mutating func takes(_ member: Member, at beginning: Beginning) -> Bool {
        guard !members.isEmpty, isCut == beginning.isCut, shared.elementsEqual(beginning.shared) else { return false }
        members.append(member)
        return true
    }

    /// Begins a run and discards the previous one.
    package mutating func begin(_ member: Member, at beginning: Beginning) {
        shared.removeAll(keepingCapacity: true)
        shared.append(contentsOf: beginning.shared)
        isCut = beginning.isCut
        members.removeAll(keepingCapacity: true)
        members.append(member)
    }

    /// The members in the query's order.
    ///
    /// - Parameter read: passes the record of a member to a body.
    package func ordered(
        _ read: (Member, (inout AttributeReader) throws -> Void) throws -> Void
    ) throws -> [Member] {
        guard isCut else { return repair.reversesEqualKeys ? members.reversed() : members }
        guard members.count > 1 else { return members }
        var keyed: [(values: [Value], member: Member)] = []
        for member in members {
            try read(member) { row in
                keyed.append((try order.map { try row.value(at: $0.position) }, member))
            }
        }
        keyed.sort { left, right in
            for (place, key) in order.enumerated() {
                let comparison = left.values[place].order(comparedWith: right.values[place])
                if comparison != 0 { return (comparison < 0) == key.ascending }
            }
            return false
        }
        return keyed.map(\.member)
    }
}

/// The state of a walk that a window limits.
@frozen package struct KeyWindow {
    @usableFromInline var toPassOver: Int
    @usableFromInline var left: Int
    @usableFromInline package private(set) var passedOver = 0

    package init(_ window: FetchWindow) { (toPassOver, left) = (window.offset, window.limit ?? Int.max) }

    /// Whether a candidate is before the offset.
    @inlinable
    @inline(__always)
    package mutating func passesOver() -> Bool {
        guard toPassOver > 0 else { return false }
        toPassOver -= 1
        passedOver += 1
        return true
    }

    /// Whether to continue after a returned candidate.
    @inlinable
    @inline(__always)
    package mutating func goesOn() -> Bool {
        left -= 1
        return left > 0
    }
}

/// The part of a plan that depends only on the shape of its query, and the place of each constant in the single key range.
///
/// Such a plan walks an index in which the conditions fix the first attributes and bound the next one, none of them a text.
/// Whatever the constants are, as long as they are of the attributes' kinds and not nil, no other candidate ranks better:
/// candidates are ranked by the number of conditions that they meet, and their keys are only counted if they leave some.
final class CachedKeyPlan: Sendable {
    private struct Bound {
        let comparison: FilterExpression.Comparison
        let place: CachedQuery.Place
    }

    let query: CachedQuery
    private let plan: KeyPlan
    private let layout: IndexKeyLayout
    /// The constants that the index's first attributes equal.
    private let equalities: [CachedQuery.Place]
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
        let kept = CachedQuery(query, shape)
        var equalities: [CachedQuery.Place] = []
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

/// The cached plans of one store, by the shapes of their filters; see ``CachedKeyPlan``.
package final class KeyPlanCache: Sendable {
    /// With more plans than this the cache is emptied: a caller with so many queries repeats few of them often.
    private static let mostPlans = 64

    private struct State {
        var plans: [ObjectIdentifier: [CachedKeyPlan]] = [:]
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
            let kept = CachedKeyPlan(query, shape, plan, snapshot.keyTables.tables[query.entity]),
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
