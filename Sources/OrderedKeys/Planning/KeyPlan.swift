@_spi(Engines) import HabitStore

/// How a query is gone about: which keys of which database are walked, and what that leaves to do above.
@_spi(Engines) public struct KeyPlan: EnginePlan, Sendable {
    /// Where the candidates come from.
    package enum Access: Equatable {
        /// No record can fulfil the filter.
        case nothing
        /// The records themselves, by identifier.
        case records
        /// The index at this place among the entity's.
        case index(Int)
    }

    /// What has to be done so that an index's keys come in the query's order.
    package struct OrderRepair: Equatable {
        /// The first attribute of the key that the order is about, and where it begins in the key.
        var firstPart: Int
        var start: Int
        /// Identifiers within equal keys come the other way round than the walk.
        var reversesEqualKeys: Bool
        /// Records whose key holds a cut text are sorted among those with the same key.
        var sortsCutTexts: Bool

        var isNeeded: Bool { reversesEqualKeys || sortsCutTexts }
    }

    package let entity: Int
    package var access: Access
    /// Disjoint and ascending.
    package var ranges: [KeyRange]
    /// Whether something led to these ranges, so that not every record is looked at.
    package let isNarrowed: Bool
    package let isReverse: Bool
    package var repair: OrderRepair?
    package let order: [BoundQuery.SortKey]
    /// Which of the candidates are handed out.
    package var window = FetchWindow()
    /// Whether the identifiers of all keys are gathered and sorted before the first record is read.
    package var sortsIdentifiers = false
    /// Whether rows are read for their identifiers only.
    package var lendsIdentifiersOnly = false
    /// Whether all that rows are read for is in the keys.
    package var lendsKeysOnly = false
    /// How many records of any entity were looked at to make this plan.
    package var examined = 0

    /// Whether all records are handed out by identifier.
    package var isWholeScan: Bool {
        access == .records && !isReverse && window.isWhole && ranges.count == 1 && ranges[0].isAll
    }

    /// What is left of the filter.
    public var residual: BoundExpression?
    /// Whether candidates come in the query's order.
    public let orderIsExact: Bool
    /// Whether offset and limit are applied to keys, before records are read.
    public var windowIsApplied = false
    /// Whether something has to be sorted, be it identifiers only.
    public var sortsInMemory: Bool { !orderIsExact || sortsIdentifiers }
    /// The access path for people; it begins with `scan` when every record of the entity is looked at.
    public var accessPath: String { path.description }
    let path: KeyAccessPath
}
