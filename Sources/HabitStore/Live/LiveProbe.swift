/// A live query that goes on when it is told to, for tests: what it answers follows from what was done before, and not from
/// when threads had time.
package final class LiveProbe<Element: Sendable>: Sendable {
    private let query: LiveFetch<Element>
    private let queries: LiveQueries

    /// - Parameter queries: those that it goes on with.
    package init(_ results: LiveResults<Element>, _ queries: LiveQueries) throws {
        query = LiveFetch(try results.subject())
        self.queries = queries
        queries.addStill(query)
    }

    deinit { queries.remove(query) }

    /// The answer, if it differs from the one that this gave last.
    package func takeChange() throws -> ResultsChange<Element>? { try query.takeChange() }
}
