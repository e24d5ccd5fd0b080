import Foundation

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

/// The requested part of an ordered result, and the one definition of what it leaves.
package struct FetchWindow: Sendable, Hashable {
    /// How many are passed over; not negative.
    package let offset: Int
    /// How many are wanted at most, not negative; nil for all.
    package let limit: Int?

    /// All of it, unless said otherwise; what is negative is 0.
    package init(offset: Int = 0, limit: Int? = nil) {
        self.offset = max(0, offset)
        self.limit = limit.map { max(0, $0) }
    }

    /// Refuses a limit that no fetch can mean.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidQuery``.
    package static func require(limit: Int?, entity: @autoclosure () -> String) throws {
        guard let limit, limit < 0 else { return }
        throw HabitStoreError(
            .invalidQuery,
            "a fetch cannot be limited to \(limit) records; give 0 or more, or nil for all",
            at: .init(entity: entity())
        )
    }

    /// Whether it leaves everything.
    package var isWhole: Bool { offset == 0 && limit == nil }

    /// Whether it leaves nothing, whatever there is.
    package var isEmpty: Bool { limit == 0 }

    /// How many of the first have to be known; nil for all.
    package var end: Int? {
        guard let (end, overflows) = limit?.addingReportingOverflow(offset), !overflows else { return nil }
        return end
    }

    /// How many it leaves of so many.
    package func count(of total: Int) -> Int { min(max(0, total - offset), limit ?? Int.max) }
}

/// A fetch made ready for one transaction: lowered and bound, with what could not be lowered kept as a condition on the
/// decoded model.
public struct PreparedFetch {
    /// A condition that engines do not know; it reads the row from its beginning.
    public typealias Condition = (inout AttributeReader) throws -> Bool

    /// The engine's view of the fetch.
    @_spi(Engines) public package(set) var query: BoundQuery
    /// The filter by names, for `explain`. It is made when it is asked for, where the query needed none.
    public var filter: FilterExpression { names() }
    private let names: () -> FilterExpression
    /// The predicate, when Foundation must evaluate it.
    public let condition: Condition?
    /// Opaque state of the preparer.
    package var origin: (any FetchOrigin)?

    /// Puts a query that was bound already to another transaction over the same schema. Nothing of its condition was left
    /// to Foundation.
    package init(_ query: BoundQuery, filter: FilterExpression) {
        self.init(query, condition: nil) { filter }
    }

    /// - Parameters:
    ///   - condition: what engines do not know of it.
    ///   - names: the filter by names.
    init(_ query: BoundQuery, condition: Condition?, names: @escaping () -> FilterExpression) {
        self.query = query
        self.condition = condition
        self.names = names
    }
}

/// The source of a prepared fetch, from which it can be prepared again.
package protocol FetchOrigin: AnyObject, Sendable {}

/// What lends the rows that models are read from: a transaction, as far as a model knows of it.
public protocol RowSource: AnyObject {
    /// Lends the record of an identifier to `body`.
    ///
    /// - Returns: whether there is one.
    func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool

    /// Hands each row of a fetch to `body`, in order, until it returns false. A row is valid during the call.
    ///
    /// - Returns: how much work it was.
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` where evaluating the predicate would trap in Swift.
    @discardableResult
    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics

    /// About how many rows a fetch has, where that takes nothing to tell; not more than there is memory for anyway.
    func expectedCount(_ fetch: PreparedFetch) -> Int?
}

extension RowSource {
    /// Nothing is known without reading.
    public func expectedCount(_ fetch: PreparedFetch) -> Int? { nil }
}

/// How a store answers a query.
public struct QueryExplanation: Sendable, Hashable, Codable {
    /// Which part of the work the engine does.
    public enum Method: String, Sendable, Hashable, Codable {
        /// The engine finds exactly the records.
        case native
        /// The engine finds a superset, which is finished in Swift.
        case nativeAndResidual
        /// Every record of the entity is looked at.
        case scan
    }

    /// The part of the engine.
    public let method: Method
    /// The engine's access path: index and range, or scan.
    public let accessPath: String
    /// The filter that was lowered, in its text form.
    public let filter: String
    /// What of the filter is left to be evaluated for every candidate, in its text form; nil when nothing is.
    public let residual: String?
    /// Whether a predicate that could not be lowered as a whole is evaluated for every candidate.
    public let evaluatesPredicate: Bool
    /// Whether the order comes from the engine; otherwise the records are sorted in memory.
    public let orderIsNative: Bool
    /// About how many candidates the access path leads to; nil when the engine cannot tell without looking at them.
    public let estimatedRows: Int?
}

extension QueryExplanation: CustomStringConvertible {
    /// One line for people.
    public var description: String {
        var text = "\(method.rawValue): \(accessPath)"
        if let estimatedRows { text += ", about \(estimatedRows) \(estimatedRows == 1 ? "row" : "rows")" }
        var residuals = residual.map { [$0] } ?? []
        if evaluatesPredicate { residuals.append("predicate") }
        if !residuals.isEmpty { text += ", residual \(residuals.joined(separator: " and "))" }
        return text + (orderIsNative ? "" : ", sorted in memory")
    }
}

/// How a store answered a query, and how much work that was.
public struct QueryAnalysis: Sendable, Hashable, Codable {
    /// How it was answered.
    public let explanation: QueryExplanation
    /// The records that were examined.
    public let statistics: FetchStatistics
    /// How long it took, in seconds.
    public let seconds: Double
}

extension QueryAnalysis: CustomStringConvertible {
    /// Two lines for people.
    public var description: String {
        let (examined, followed, returned) = (statistics.examined, statistics.followed, statistics.returned)
        return """
            \(explanation)
            \(examined) examined, \(followed) followed through relationships, \(returned) returned, \
            \(Self.milliseconds(seconds)) ms
            """
    }

    private static func milliseconds(_ seconds: Double) -> String {
        let microseconds = Int((seconds * 1_000_000).rounded())
        let fraction = String(microseconds % 1_000)
        return "\(microseconds / 1_000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }
}

/// How much work a query was.
public struct FetchStatistics: Sendable, Hashable, Codable {
    /// Records that were examined: candidates from the engine, and those that it skipped itself. Rows that SQLite skips inside an index are counted
    /// only if the query is analyzed; see `ReadTransaction.analyze(_:)`.
    public var examined: Int
    /// Records that were reached through relationships, to tell whether a candidate fulfils the filter.
    public var followed: Int
    /// Records that were returned.
    public var returned: Int

    /// Counts; nothing yet, unless said otherwise.
    public init(examined: Int = 0, followed: Int = 0, returned: Int = 0) {
        self.examined = examined
        self.followed = followed
        self.returned = returned
    }

    /// Adds another query's work.
    static func += (left: inout FetchStatistics, right: FetchStatistics) {
        left.examined += right.examined
        left.followed += right.followed
        left.returned += right.returned
    }
}
