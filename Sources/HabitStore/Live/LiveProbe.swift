/// A live query that advances only on request, so that a test's results do not depend on the scheduling of threads.
package final class LiveProbe<Element: Sendable>: Sendable {
    private let query: LiveFetch<Element>
    private let queries: LiveQueries

    /// - Parameter queries: the queries that it advances with.
    package init(_ results: LiveResults<Element>, _ queries: LiveQueries) throws {
        query = LiveFetch(try results.subject())
        self.queries = queries
        queries.addStill(query)
    }

    deinit { queries.remove(query) }

    /// The answer, if it differs from the one that this gave last.
    package func takeChange() throws -> ResultsChange<Element>? { try query.takeChange() }
}
