import Foundation
import Synchronization

/// A query that is live, as far as the one who follows the history knows of it.
protocol LiveQuery: AnyObject, Sendable {
    /// Which changes concern it; nil before its first answer.
    var plan: LivePlan? { get }

    /// Asks the query, and takes the answer for what it is from now on.
    func ask(_ transaction: any ReadTransaction, at token: HistoryToken, _ cause: ResultsChangeCause) throws

    /// What judges single records in a transaction.
    func matcher(in transaction: any ReadTransaction) throws -> RowMatcher

    /// Whether a record is in the answer or its reserve.
    func holds(_ id: UUID) -> Bool

    /// A record that is there may belong to the answer, or not any more.
    func judge(_ id: UUID, _ row: inout AttributeReader, _ matcher: RowMatcher) throws

    /// A record is not there any more.
    func remove(_ id: UUID)

    /// Ends a step: all changes up to a token have been applied.
    ///
    /// - Returns: whether the query has to be repeated.
    func finish(at token: HistoryToken) -> Bool

    /// Repeats the query, and replaces the patched answer if they differ.
    ///
    /// - Returns: the difference; nil if there is none.
    func compare(_ transaction: any ReadTransaction, at token: HistoryToken) throws -> String?

    /// Tells the consumer what the answer has become.
    func publish()

    /// Ends the query.
    func end(_ error: any Error)
}

/// The kind of element of a live query, and how to read it from a record.
struct LiveSubject<Element: Sendable>: Sendable {
    let prepare: @Sendable (any ReadTransaction) throws -> PreparedFetch
    /// The attributes that the elements hold; nil for all.
    let elements: Set<Int>?
    let read: @Sendable (inout AttributeReader) throws -> Element
    let isSame: @Sendable (Element, Element) -> Bool
}

/// One consumer's live query: its answer, and the changes that the consumer has not received yet.
final class LiveFetch<Element: Sendable>: LiveQuery {
    private struct State {
        var plan: LivePlan?
        /// The answer that steps work on. The consumer gets it when the step has ended.
        var answer: LiveAnswer<Element>?
        var token = HistoryToken.zero
        /// For each record that was touched since the answer was published last, its keys in that; nil for one that was not in it.
        /// Nil as a whole where that is not known.
        var touched: [UUID: [Value]?]?
        /// Why the answer is another one than was published; nil where it is not.
        var cause: ResultsChangeCause?
        /// What there is to tell.
        var published: Published?
        /// The answer that the consumer received last.
        var told: LiveRecords<Element>?
        var error: (any Error)?
        var isOver = false
        var waiting: UnsafeContinuation<Void, Never>?

        mutating func touch(_ id: UUID) {
            cause = cause ?? .changed
            guard let known = touched, known[id] == nil, !LiveMutant.isPlanted(.touchedOnce) || known.isEmpty else {
                return
            }
            // For this many, comparing all elements is as fast.
            guard known.count < max(1_024, (answer?.records.count ?? 0) / 4) else { return touched = nil }
            touched?.updateValue(answer?.keys(of: id), forKey: id)
        }

        /// Puts the answer where the consumer finds it, with all that has happened since it came last.
        mutating func publish() {
            guard let answer, let cause else { return }
            var published = Published(answer: answer, token: token, cause: cause, touched: touched)
            if let before = self.published {
                if before.cause != .changed { published.cause = before.cause }
                published.touched = before.touched.flatMap { before in touched?.merging(before) { $1 } }
            }
            (self.published, self.cause, touched) = (published, nil, [:])
        }

        mutating func takeWaiting() -> UnsafeContinuation<Void, Never>? {
            defer { waiting = nil }
            return waiting
        }

        /// The changes that the consumer has not received yet; nil if there are none.
        mutating func takeNews() throws -> News? {
            if let error {
                (self.error, isOver) = (nil, true)
                throw error
            }
            guard let published, let plan else { return nil }
            let touched = plan.window.isWhole ? published.touched : nil
            let news = News(
                cause: published.cause,
                token: published.token,
                before: told ?? LiveRecords([]),
                records: published.answer.wanted,
                touched: touched?.map { ($0.key, $0.value, published.answer.keys(of: $0.key)) },
                order: plan.order
            )
            (self.published, told) = (nil, news.records)
            return news
        }
    }

    private struct Published {
        let answer: LiveAnswer<Element>
        let token: HistoryToken
        var cause: ResultsChangeCause
        var touched: [UUID: [Value]?]?
    }

    private struct News {
        let cause: ResultsChangeCause
        let token: HistoryToken
        let before: LiveRecords<Element>
        let records: LiveRecords<Element>
        /// The keys of the records that were touched, before and after; nil where that is not known.
        let touched: [(id: UUID, before: [Value]?, after: [Value]?)]?
        let order: LiveOrder
    }

    private let subject: LiveSubject<Element>
    private let state = Mutex(State())

    init(_ subject: LiveSubject<Element>) { self.subject = subject }

    // MARK: The history's side

    var plan: LivePlan? { state.withLock { $0.plan } }

    func ask(_ transaction: any ReadTransaction, at token: HistoryToken, _ cause: ResultsChangeCause) throws {
        let (plan, answer) = try asked(transaction)
        state.withLock { state in
            if let reason = state.plan?.reason, plan.reason == nil {
                state.plan = plan
                state.plan?.stopPatching(reason)
            } else {
                state.plan = plan
            }
            state.answer = answer
            state.token = token
            state.touched = nil
            state.cause = state.cause.map { $0 == .changed ? cause : $0 } ?? cause
        }
    }

    private func asked(_ transaction: any ReadTransaction) throws -> (LivePlan, LiveAnswer<Element>) {
        var fetch = try subject.prepare(transaction)
        let plan = LivePlan(fetch.query, elements: subject.elements, schema: transaction.schema)
        fetch.query.window = LiveAnswer<Element>.window(kept: plan.window)
        var rows: [LiveAnswer<Element>.Row] = []
        try transaction.enumerateRows(fetch) { row in
            rows.append(try self.row(&row, plan.order))
            return true
        }
        return (plan, LiveAnswer(rows, plan.order, plan.window))
    }

    private func row(_ row: inout AttributeReader, _ order: LiveOrder) throws -> LiveAnswer<Element>.Row {
        let id = try row.identifier()
        let keys = try order.keys(of: row)
        return LiveRecords.Row(id: id, keys: keys, element: try subject.read(&row))
    }

    func matcher(in transaction: any ReadTransaction) throws -> RowMatcher {
        try transaction.matcher(of: try subject.prepare(transaction))
    }

    func holds(_ id: UUID) -> Bool { state.withLock { $0.answer?.keys(of: id) != nil } }

    func judge(_ id: UUID, _ row: inout AttributeReader, _ matcher: RowMatcher) throws {
        guard let order = plan?.order else { return }
        guard try matcher.matches(&row) else { return LiveMutant.isPlanted(.lostDeparture) ? () : remove(id) }
        if LiveMutant.isPlanted(.lostArrival), !holds(id) { return }
        let found = try self.row(&row, order)
        row.rewind()
        state.withLock { state in
            state.touch(id)
            state.answer?.put(found)
        }
    }

    func remove(_ id: UUID) {
        state.withLock { state in
            guard state.answer?.keys(of: id) != nil else { return }
            state.touch(id)
            state.answer?.remove(id)
        }
    }

    func finish(at token: HistoryToken) -> Bool {
        state.withLock { state in
            state.token = token
            return state.answer?.isShort ?? true
        }
    }

    func compare(_ transaction: any ReadTransaction, at token: HistoryToken) throws -> String? {
        let (_, asked) = try asked(transaction)
        let (expected, actual) = (asked.wanted, state.withLock { $0.answer?.wanted })
        let difference = actual.map { ResultsDifference(from: $0, to: expected, isSame: subject.isSame) }
        guard let difference, !difference.isEmpty else { return nil }
        let what =
            "a patched answer of \(actual?.count ?? 0) records differs from the asked one of \(expected.count) at token "
            + "\(token): \(difference.removals.count) too many, \(difference.insertions.count) missing, "
            + "\(difference.moves.count) elsewhere, \(difference.updates.count) with other contents"
        state.withLock { state in
            state.plan?.stopPatching("an answer that was patched differed from the asked one")
            state.answer = asked
            state.touched = nil
            state.cause = state.cause ?? .changed
        }
        return what
    }

    func publish() {
        let waiting = state.withLock { state in
            state.publish()
            return state.published == nil ? nil : state.takeWaiting()
        }
        waiting?.resume()
    }

    func end(_ error: any Error) {
        let waiting = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            if !state.isOver { state.error = error }
            return state.takeWaiting()
        }
        waiting?.resume()
    }

    // MARK: The consumer's side

    /// The answer, if it differs from the one that this gave last.
    func takeChange() throws -> ResultsChange<Element>? {
        guard let news = try state.withLock({ try $0.takeNews() }) else { return nil }
        let difference = difference(news)
        guard news.cause != .changed || !difference.isEmpty else { return nil }
        return ResultsChange(token: news.token, records: news.records, difference: difference, cause: news.cause)
    }

    /// The next answer that differs from the one that this gave last; nil once the query was cancelled.
    func next() async throws -> ResultsChange<Element>? {
        while true {
            if state.withLock({ $0.isOver }) { return nil }
            if let change = try takeChange() { return change }
            await withTaskCancellationHandler {
                await withUnsafeContinuation { continuation in
                    let isDue = state.withLock { state in
                        if state.published != nil || state.error != nil || state.isOver { return true }
                        state.waiting = continuation
                        return false
                    }
                    if isDue { continuation.resume() }
                }
            } onCancel: {
                cancel()
            }
        }
    }

    /// Ends the query without an error.
    func cancel() {
        let waiting = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            state.isOver = true
            return state.takeWaiting()
        }
        waiting?.resume()
    }

    private func difference(_ news: News) -> ResultsDifference {
        guard let touched = news.touched else {
            return ResultsDifference(from: news.before, to: news.records, isSame: subject.isSame)
        }
        return ResultsDifference(
            from: news.before,
            to: news.records,
            touched: touched,
            news.order,
            isSame: subject.isSame
        )
    }
}

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
