/// How an engine goes about a query, and how much of it is left to do above.
@_spi(Engines) public protocol EnginePlan {
    /// The part of the filter that candidates must still be tested with; nil if every candidate meets the whole filter.
    var residual: BoundExpression? { get }
    /// Whether candidates come in the query's total order.
    var orderIsExact: Bool { get }
    /// Whether something is sorted in memory to get that order, here or above.
    var sortsInMemory: Bool { get }
    /// Whether offset and limit are already applied.
    var windowIsApplied: Bool { get }
    /// The access path for people: `index Entry(habitID, date) range`, `scan Habit`.
    var accessPath: String { get }
}

@_spi(Engines) extension EnginePlan {
    /// Whether every candidate fulfils the filter.
    public var filterIsExact: Bool { residual == nil }

    /// What does not come in order is sorted above.
    public var sortsInMemory: Bool { !orderIsExact }
}
