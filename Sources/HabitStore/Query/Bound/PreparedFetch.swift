import Foundation

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
