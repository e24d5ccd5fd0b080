@_spi(Engines) import HabitStore

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
