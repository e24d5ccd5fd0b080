import Foundation

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
