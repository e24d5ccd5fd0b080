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
