import Foundation
@_spi(Engines) import HabitStore

/// One question that a read transaction put to its store, and what came of it, in a form that can be put to another store.
struct RecordedRead: Sendable {
    /// How a fetch is made ready for another store, where a part of its condition is left to Foundation.
    typealias Remake = @Sendable (any ReadTransaction) throws -> PreparedFetch

    /// What was asked.
    enum Question: Sendable {
        /// The rows of a fetch, in order; of those only the first so many, where the caller did not go on.
        case rows(ReadRequest, upTo: Int?)
        /// How many rows a fetch has.
        case count(ReadRequest)
        /// The record of an identifier.
        case record(entity: Int, id: UUID)
        /// A fetch that could not be made ready.
        case preparation(Remake, entity: String)
    }

    /// What was asked.
    let question: Question
    /// What came of it.
    let answer: ReadAnswer
}

/// A fetch as it was asked for.
struct ReadRequest: Sendable {
    /// The bound query, its projection included.
    let query: BoundQuery
    /// Its filter by names.
    let filter: FilterExpression
    /// Makes it ready anew, where the query does not say everything.
    let remake: RecordedRead.Remake?

    /// - Returns: nil for a fetch that nobody can put to another store.
    init?(_ fetch: PreparedFetch) {
        guard fetch.condition == nil || fetch.remake != nil else { return nil }
        query = fetch.query
        filter = fetch.filter
        remake = fetch.condition == nil ? nil : fetch.remake
    }

    /// The fetch for another transaction.
    func fetch(in transaction: any ReadTransaction) throws -> PreparedFetch {
        guard let remake else { return PreparedFetch(query, filter: filter) }
        var fetch = try remake(transaction)
        fetch.query.projection = query.projection
        return fetch
    }
}
