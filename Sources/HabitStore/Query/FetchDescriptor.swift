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
    /// How many records at most: nil for all, and 0 for none.
    public var fetchLimit: Int?
    /// How many records of the order are passed over first.
    public var fetchOffset: Int
    /// The page begins behind the record that this cursor names; see `fetchPage`.
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

/// The place of a record in an order, from which the next page goes on, whatever was inserted or deleted before it.
public struct PageCursor: Sendable, Hashable, Codable {
    /// The values of the order's keys, the identifier last.
    public let keys: [Value]

    /// Makes a cursor from the values of the order's keys.
    public init(keys: [Value]) { self.keys = keys }
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
    public func bound(to schema: Schema) throws -> BoundQuery {
        let entity = try schema.position(ofEntity: entity)
        return BoundQuery(
            entity: entity,
            filter: try filter.bound(to: schema, entity: entity),
            order: try sort.map { key in
                guard let position = schema.entities[entity].position(of: key.attribute) else {
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

/// A record without its Swift type: values in the order of the entity's attributes.
public struct Record: Sendable, Hashable {
    /// The position of the entity in the schema.
    public let entity: Int
    /// The identifier.
    public let id: UUID
    /// The values.
    public let values: [Value]

    /// Makes a record.
    public init(entity: Int, id: UUID, values: [Value]) {
        self.entity = entity
        self.id = id
        self.values = values
    }
}

extension Record: RecordAccess {
    /// The value of the attribute at a position.
    public func value(at position: Int) throws -> Value { values[position] }
}
