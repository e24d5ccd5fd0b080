/// A query with its names resolved.
@_spi(Engines) public struct BoundQuery: Sendable {
    /// One key of the order.
    public struct SortKey: Sendable, Hashable {
        /// The attribute.
        public let position: Int
        /// Whether small values, and nil, come first.
        public let ascending: Bool

        /// Makes a key.
        public init(position: Int, ascending: Bool) {
            self.position = position
            self.ascending = ascending
        }
    }

    /// The entity.
    public var entity: Int
    /// The filter.
    public var filter: BoundExpression { didSet { shape = nil } }
    /// The keys of the total order; the last one is the identifier.
    public var order: [SortKey]
    /// The part of the order that is wanted.
    package var window: FetchWindow
    /// How many records are passed over.
    public var offset: Int {
        get { window.offset }
        set { window = FetchWindow(offset: newValue, limit: limit) }
    }
    /// How many records are wanted at most; nil for all.
    public var limit: Int? {
        get { window.limit }
        set { window = FetchWindow(offset: offset, limit: newValue) }
    }
    /// Whether a condition that engines do not see is left to do above, so that nothing may be cut or counted before.
    public var hasOpaqueCondition: Bool
    /// Whether evaluating the filter or the opaque condition may fail, where Swift would trap or throw. Every candidate is
    /// then looked at before any is returned, whatever the order and the window, so that all engines fail alike.
    public var mayFail: Bool
    /// The attributes that the rows are read for, when not all of them are: an engine may leave out the others, but for the
    /// identifier and for those that the residual and the order need.
    public var projection: [Int]?
    /// Whether the caller ignores the order, as counting does: an engine may skip sorting.
    public var isUnordered = false
    /// Whether the engine is to count everything that it looks at, whatever that costs.
    public var isAnalyzed = false
    /// The filter without its constants, which other filters share, and the constants; nil if the filter has no known shape.
    package private(set) var shape: (shape: PredicateShape, values: [Value])?

    /// Makes a query. The identifier is appended to an order that does not end with it.
    public init(
        entity: Int,
        filter: BoundExpression = .literal(.bool(true)),
        order: [SortKey] = [],
        offset: Int = 0,
        limit: Int? = nil,
        hasOpaqueCondition: Bool = false,
        opaqueConditionMayFail: Bool = false,
        projection: [Int]? = nil
    ) {
        self.entity = entity
        self.filter = filter
        self.order =
            order.contains { $0.position == 0 } ? order : order + [SortKey(position: 0, ascending: true)]
        window = FetchWindow(offset: offset, limit: limit)
        self.hasOpaqueCondition = hasOpaqueCondition
        mayFail = filter.canFail || opaqueConditionMayFail
        self.projection = projection
    }

    /// Makes a query with the filter of a shape.
    init(entity: Int, _ shape: PredicateShape, _ values: [Value], order: [SortKey], offset: Int, limit: Int?) {
        self.init(entity: entity, filter: shape.filter(values), order: order, offset: offset, limit: limit)
        self.shape = (shape, values)
    }
}
