import Foundation
@_spi(Engines) import HabitStore

/// One question that a read transaction asked its store, and the answer, in a form that can be asked of another store.
struct RecordedRead: Sendable {
    /// Prepares a fetch for another store, if Foundation evaluates a part of its condition.
    typealias Remake = @Sendable (any ReadTransaction) throws -> PreparedFetch

    enum Question: Sendable {
        /// The rows of a fetch, in order; only the first `upTo` if the caller stopped there.
        case rows(ReadRequest, upTo: Int?)
        /// The number of rows of a fetch.
        case count(ReadRequest)
        /// The record of an identifier.
        case record(entity: Int, id: UUID)
        /// A fetch that could not be prepared.
        case preparation(Remake, entity: String)
    }

    let question: Question
    let answer: ReadAnswer
}

/// A fetch as requested.
struct ReadRequest: Sendable {
    /// The bound query, with its projection.
    let query: BoundQuery
    /// Its filter, with names.
    let filter: FilterExpression
    /// Prepares it again, if the query is not complete.
    let remake: RecordedRead.Remake?

    /// - Returns: nil for a fetch that cannot be asked of another store.
    init?(_ fetch: PreparedFetch) {
        guard fetch.condition == nil || fetch.remake != nil else { return nil }
        query = fetch.query
        filter = fetch.filter
        remake = fetch.condition == nil ? nil : fetch.remake
    }

    func fetch(in transaction: any ReadTransaction) throws -> PreparedFetch {
        guard let remake else { return PreparedFetch(query, filter: filter) }
        var fetch = try remake(transaction)
        fetch.query.projection = query.projection
        return fetch
    }
}
