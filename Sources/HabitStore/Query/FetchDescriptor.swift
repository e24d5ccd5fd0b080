import Foundation

/// What to fetch: a condition, an order, and a window, in SwiftData's words.
///
/// ```swift
/// let heroes = FetchDescriptor(
///     predicate: #Predicate<Habit> { $0.streak >= 7 },
///     sortBy: [SortDescriptor(\.streak, order: .reverse)])
/// ```
/// The order is always total: the identifier, ascending, is the last key. Text is ordered by its UTF-8 bytes, nil comes
/// first ascending.
public struct FetchDescriptor<Model: PersistentModel>: Sendable {
    /// The condition, or nil for all records.
    public var predicate: Predicate<Model>?
    /// A further condition, composed or from text; a record must fulfil both.
    public var filter: Filter<Model>
    /// The keys of the order.
    public var sortBy: [SortDescriptor<Model>]
    /// How many records at most: nil for all, and 0 for none. Pages of a fetch have this many together. A fetch with a negative limit
    /// throws ``HabitStoreError/Code/invalidQuery``.
    public var fetchLimit: Int?
    /// How many records of the order are passed over first; none where it is negative.
    public var fetchOffset: Int
    /// The page begins after the record that this cursor names; see `fetchPage`.
    public var cursor: PageCursor?

    /// Describes a fetch.
    public init(
        predicate: Predicate<Model>? = nil,
        filter: Filter<Model> = .always,
        sortBy: [SortDescriptor<Model>] = [],
        fetchLimit: Int? = nil,
        fetchOffset: Int = 0,
        cursor: PageCursor? = nil
    ) {
        self.predicate = predicate
        self.filter = filter
        self.sortBy = sortBy
        self.fetchLimit = fetchLimit
        self.fetchOffset = fetchOffset
        self.cursor = cursor
    }
}

extension FetchDescriptor {
    /// Describes a fetch by an expression.
    @_disfavoredOverload
    public init(
        filter: FilterExpression,
        sortBy: [SortDescriptor<Model>] = [],
        fetchLimit: Int? = nil,
        fetchOffset: Int = 0,
        cursor: PageCursor? = nil
    ) {
        self.init(
            filter: Filter(filter),
            sortBy: sortBy,
            fetchLimit: fetchLimit,
            fetchOffset: fetchOffset,
            cursor: cursor
        )
    }
}
