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

/// A condition on the records of a model, put together from pieces: predicates, expressions, texts, and other filters.
///
/// A single `#Predicate` of more than a handful of terms is more than the type checker can do; pieces have no such limit.
///
/// ```swift
/// let strong = Filter<Habit>(#Predicate { $0.streak >= 7 })
/// let named = Filter<Habit>(#Predicate { $0.name.contains(text) })
/// let wanted: Filter<Habit> = .all([strong, .any([named, try Filter(text: "category == nil")]), !archived])
/// let habits = try store.fetch(FetchDescriptor(filter: wanted))
/// ```
public indirect enum Filter<Model: PersistentModel>: Sendable {
    /// A Foundation predicate.
    case predicate(Predicate<Model>)
    /// An expression.
    case expression(FilterExpression)
    /// The opposite.
    case not(Filter)
    /// Whether all hold, asked in this order; true when there is none.
    case all([Filter])
    /// Whether one holds, asked in this order; false when there is none.
    case any([Filter])

    /// No condition.
    public static var always: Filter { .expression(.always) }
    /// A condition that nothing fulfils.
    public static var never: Filter { .expression(.never) }

    /// A filter of one predicate.
    public init(_ predicate: Predicate<Model>) { self = .predicate(predicate) }

    /// A filter of one expression.
    public init(_ expression: FilterExpression) { self = .expression(expression) }

    /// Reads the text form.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidQuery`` with the column.
    public init(text: String) throws { self = .expression(try FilterExpression(text: text)) }

    /// The opposite.
    public static prefix func ! (filter: Filter) -> Filter { .not(filter) }

    /// Whether both hold; the second is not asked where the first does not.
    public static func && (left: Filter, right: Filter) -> Filter { .all([left, right]) }

    /// Whether one holds; the second is not asked where the first does.
    public static func || (left: Filter, right: Filter) -> Filter { .any([left, right]) }

}

/// A record's place in an order, where the next page continues regardless of what was inserted or deleted before it.
public struct PageCursor: Sendable, Hashable, Codable {
    /// The values of the order's keys, the identifier last.
    public let keys: [Value]
    /// How many records the fetch may still give from here on; nil where it has no limit.
    let left: Int?
    /// The order of the place, ``orderText(_:_:)``; nil if unknown.
    let order: String?

    /// Makes a cursor from the values of the order's keys.
    public init(keys: [Value]) { self.init(keys: keys, left: nil, order: nil) }

    init(keys: [Value], left: Int?, order: String?) { (self.keys, self.left, self.order) = (keys, left, order) }

    /// An entity's order as a text: `Entry(habitID, -date, id)`.
    static func orderText(_ entity: EntityDescription, _ order: [BoundQuery.SortKey]) -> String {
        let keys = order.map { ($0.ascending ? "" : "-") + entity.attributes[$0.position].name }
        return "\(entity.name)(\(keys.joined(separator: ", ")))"
    }
}

/// One page of a fetch, and where the next begins.
public struct Page<Model: PersistentModel>: Sendable {
    /// The records.
    public let models: [Model]
    /// The cursor for the next page; nil when this was the last.
    public let next: PageCursor?
}

/// A fetch without a Swift type, for tools: names instead of key paths.
public struct RecordQuery: Sendable, Hashable, Codable {
    /// One key of the order.
    public struct SortKey: Sendable, Hashable, Codable {
        /// The attribute's name.
        public var attribute: String
        /// Whether small values, and nil, come first.
        public var ascending: Bool

        /// Makes a key.
        public init(_ attribute: String, ascending: Bool = true) {
            self.attribute = attribute
            self.ascending = ascending
        }
    }

    /// The entity's name.
    public var entity: String
    /// The condition.
    public var filter: FilterExpression
    /// The keys of the order; the identifier is always the last.
    public var sort: [SortKey]
    /// How many records at most; nil for all.
    public var limit: Int?
    /// How many are passed over first.
    public var offset: Int

    /// Makes a query.
    public init(
        entity: String,
        filter: FilterExpression = .always,
        sort: [SortKey] = [],
        limit: Int? = nil,
        offset: Int = 0
    ) {
        self.entity = entity
        self.filter = filter
        self.sort = sort
        self.limit = limit
        self.offset = offset
    }

    /// Resolves the names.
    @_spi(Engines) public func bound(to schema: Schema) throws -> BoundQuery {
        let entity = try schema.position(ofEntity: entity)
        try FetchWindow.require(limit: limit, entity: schema.entities[entity].name)
        return BoundQuery(
            entity: entity,
            filter: try filter.bound(to: schema, entity: entity),
            order: try sort.map { key in
                guard let position = schema.entities[entity].position(of: key.attribute) else {
                    if schema.entities[entity].relationships.contains(where: { $0.name == key.attribute }) {
                        throw HabitStoreError(
                            .invalidQuery,
                            "\(schema.entities[entity].name).\(key.attribute) leads to other records, and records are sorted by "
                                + "their own attributes only",
                            at: .init(entity: schema.entities[entity].name, attribute: key.attribute)
                        )
                    }
                    throw HabitStoreError(
                        .unknownAttribute,
                        "\(schema.entities[entity].name) has no attribute of this name to sort by; it has "
                            + schema.entities[entity].attributes.map(\.name).joined(separator: ", "),
                        at: .init(entity: schema.entities[entity].name, attribute: key.attribute),
                        detail: key.attribute
                    )
                }
                return .init(position: position, ascending: key.ascending)
            },
            offset: offset,
            limit: limit
        )
    }
}

extension PreparedFetch {
    /// Prepares a query without a Swift type.
    public init(_ query: RecordQuery, schema: Schema) throws {
        self.init(try query.bound(to: schema), condition: nil) { query.filter }
    }
}
