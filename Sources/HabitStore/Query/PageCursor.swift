/// The place of a record in an order, from which the next page goes on, whatever was inserted or deleted before it.
public struct PageCursor: Sendable, Hashable, Codable {
    /// The values of the order's keys, the identifier last.
    public let keys: [Value]
    /// How many records the fetch may still give from here on; nil where it has no limit.
    let left: Int?

    /// Makes a cursor from the values of the order's keys.
    public init(keys: [Value]) { self.init(keys: keys, left: nil) }

    init(keys: [Value], left: Int?) { (self.keys, self.left) = (keys, left) }
}

/// One page of a fetch, and where the next begins.
public struct Page<Model: PersistentModel>: Sendable {
    /// The records.
    public let models: [Model]
    /// The cursor for the next page; nil when this was the last.
    public let next: PageCursor?
}
