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
