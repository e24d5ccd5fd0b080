import Foundation
@_spi(Engines) import HabitStore

/// A read transaction that passes its calls on to another one, and records questions and answers for comparison.
///
/// If recording fails, the caller still gets the answer, or the error, of the other transaction.
final class RecordingTransaction: ReadTransaction {
    private let base: any ReadTransaction
    private let shadow: ShadowReader?
    private let recorder: QueryRecorder?
    private var reads: [RecordedRead] = []

    /// - Parameters:
    ///   - shadow: compares the answers; nil to compare none.
    ///   - recorder: collects the shapes of questions; nil to collect none.
    init(_ base: any ReadTransaction, _ shadow: ShadowReader?, _ recorder: QueryRecorder?) {
        self.base = base
        self.shadow = shadow
        self.recorder = recorder
    }

    var schema: Schema { base.schema }
    var statistics: FetchStatistics { base.statistics }

    func currentToken() throws -> HistoryToken { try base.currentToken() }

    func information() throws -> StoreInformation { try base.information() }

    func explain(_ fetch: PreparedFetch) throws -> QueryExplanation { try base.explain(fetch) }

    func matcher(of fetch: PreparedFetch) throws -> RowMatcher { try base.matcher(of: fetch) }

    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws {
        try base.enumerateHistory(after: token, body)
    }

    /// Passes the recorded reads on for comparison, at the end of the transaction, whether or not it succeeded.
    func finish() {
        guard let shadow, !reads.isEmpty else { return }
        do {
            shadow.compare(reads, at: try base.currentToken())
        } catch {
            shadow.giveUp(reads.count, .error)
        }
    }

    // MARK: Questions

    func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch {
        let fetch: PreparedFetch
        do {
            fetch = try base.prepare(descriptor)
        } catch {
            noteFailure(error, entity: M.entity.name) { try $0.prepare(descriptor) }
            throw error
        }
        // The query lacks the part of the condition that engines do not know.
        guard fetch.condition != nil else { return fetch }
        var whole = fetch
        whole.remake = { try $0.prepare(descriptor) }
        return whole
    }

    func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        recorder?.note(entity: entity, id: id, schema)
        guard let shadow, samples(shadow, QueryShape(.record, entity: entity)) else {
            return try base.withRow(entity: entity, id: id, body)
        }
        var trace = RowTrace(nil)
        defer { note(.record(entity: entity, id: id), trace) }
        do {
            return try base.withRow(entity: entity, id: id) { try trace.take(&$0, body) }
        } catch {
            trace.fail(error)
            throw error
        }
    }

    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        recorder?.note(fetch, schema)
        guard let shadow, samples(shadow, QueryShape(.rows, fetch.query)) else {
            return try base.enumerateRows(fetch, body)
        }
        guard let request = ReadRequest(fetch) else {
            shadow.giveUp(1, .error)
            return try base.enumerateRows(fetch, body)
        }
        var trace = RowTrace(fetch.query.projection)
        defer { note(.rows(request, upTo: trace.isCut ? trace.digest.rows : nil), trace) }
        do {
            return try base.enumerateRows(fetch) { row in
                trace.isCut = try !trace.take(&row, body)
                return !trace.isCut
            }
        } catch {
            trace.fail(error)
            throw error
        }
    }

    func count(_ fetch: PreparedFetch) throws -> Int {
        recorder?.note(fetch, schema)
        guard let shadow, samples(shadow, QueryShape(.count, fetch.query)) else { return try base.count(fetch) }
        guard let request = ReadRequest(fetch) else {
            shadow.giveUp(1, .error)
            return try base.count(fetch)
        }
        do {
            let count = try base.count(fetch)
            reads.append(RecordedRead(question: .count(request), answer: .count(count)))
            return count
        } catch {
            note(.count(request), failure: error)
            throw error
        }
    }

    // MARK: Recording

    /// Whether to compare the next question of a shape, and there is room for it.
    @inline(__always)
    private func samples(_ shadow: ShadowReader, _ shape: @autoclosure () -> QueryShape) -> Bool {
        shadow.sampler.samples(shape()) && shadow.reserve()
    }

    private func note(_ question: RecordedRead.Question, _ trace: RowTrace) {
        if let error = trace.failure {
            note(question, failure: error)
        } else {
            reads.append(RecordedRead(question: question, answer: .rows(trace.digest)))
        }
    }

    /// If the store could not be read, there is no answer to compare.
    private func note(_ question: RecordedRead.Question, failure error: any Error) {
        if let code = (error as? HabitStoreError)?.code, code.isPartOfTheAnswer {
            reads.append(RecordedRead(question: question, answer: .failure(code)))
        } else {
            shadow?.giveUp(1, .error)
        }
    }

    private func noteFailure(_ error: any Error, entity: String, _ remake: @escaping RecordedRead.Remake) {
        guard let shadow, let position = try? schema.position(ofEntity: entity),
            samples(shadow, QueryShape(.preparation, entity: position))
        else { return }
        note(.preparation(remake, entity: entity), failure: error)
    }
}

/// A write transaction that records the shapes of its questions; their answers are not compared.
final class RecordingWriteTransaction: WriteTransaction {
    private let base: any WriteTransaction
    private let reading: RecordingTransaction

    init(_ base: any WriteTransaction, _ recorder: QueryRecorder) {
        self.base = base
        reading = RecordingTransaction(base, nil, recorder)
    }

    var schema: Schema { base.schema }
    var statistics: FetchStatistics { base.statistics }

    func currentToken() throws -> HistoryToken { try base.currentToken() }

    func information() throws -> StoreInformation { try base.information() }

    func explain(_ fetch: PreparedFetch) throws -> QueryExplanation { try base.explain(fetch) }

    func matcher(of fetch: PreparedFetch) throws -> RowMatcher { try base.matcher(of: fetch) }

    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws {
        try base.enumerateHistory(after: token, body)
    }

    func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch {
        try reading.prepare(descriptor)
    }

    func withRow(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> Void) throws -> Bool {
        try reading.withRow(entity: entity, id: id, body)
    }

    func enumerateRows(
        _ fetch: PreparedFetch,
        _ body: (inout AttributeReader) throws -> Bool
    ) throws -> FetchStatistics {
        try reading.enumerateRows(fetch, body)
    }

    func count(_ fetch: PreparedFetch) throws -> Int { try reading.count(fetch) }

    func insert<M: PersistentModel>(_ model: M) throws { try base.insert(model) }

    func insert<M: PersistentModel>(contentsOf models: [M], progress: (Int) throws -> Void) throws {
        try base.insert(contentsOf: models, progress: progress)
    }

    func save<M: PersistentModel>(_ model: M) throws { try base.save(model) }

    @discardableResult
    func delete<M: PersistentModel>(_ type: M.Type, id: UUID) throws -> Bool { try base.delete(type, id: id) }

    func pruneHistory(through token: HistoryToken) throws { try base.pruneHistory(through: token) }
}

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

extension RecordedRead.Question {
    /// The question's shape for people, without the user's data.
    func text(_ schema: Schema) -> String {
        switch self {
        case .rows(let request, _): (request.isIdentifiers ? "the identifiers of " : "") + request.text(schema)
        case .count(let request): "the count of " + request.text(schema)
        case .record(let entity, _): "\(schema.entities[entity].name) by its identifier"
        case .preparation(_, let entity): "\(entity) by a fetch that cannot be asked"
        }
    }
}

extension ReadRequest {
    var isIdentifiers: Bool { query.projection == [0] }

    /// The fetch without its literals: `Habit where streak >= ? by -streak, limited`.
    func text(_ schema: Schema) -> String {
        let entity = schema.entities[query.entity]
        var text = entity.name
        let filter = filter.withoutLiterals
        if !filter.isEmpty { text += " where \(filter)" }
        if remake != nil { text += filter.isEmpty ? " where Foundation says so" : " and where Foundation says so" }
        let order = query.order.dropLast().map { ($0.ascending ? "" : "-") + entity.attributes[$0.position].name }
        if !order.isEmpty { text += " by " + order.joined(separator: ", ") }
        if query.limit != nil { text += ", limited" }
        if query.offset > 0 { text += ", from an offset" }
        return text
    }
}

/// The answer to a question, in a form in which two stores' answers can be compared.
enum ReadAnswer: Sendable, Equatable {
    /// Rows, or the record of an identifier.
    case rows(RowDigest)
    case count(Int)
    /// An error caused by the question, which every store has to report.
    case failure(HabitStoreError.Code)

    /// How another answer differs from this one; nil if it does not.
    func difference(from other: ReadAnswer) -> ShadowDifference.Kind? {
        switch (self, other) {
        case _ where self == other: nil
        case (.count, .count): .count
        case (.rows(let mine), .rows(let theirs)): mine.isReordered(theirs) ? .order : .records
        default: .error
        }
    }

    /// The answer for people, without the user's values.
    var text: String {
        switch self {
        case .rows(let digest): digest.rows.counted("record")
        case .count(let number): "the count \(number)"
        case .failure(let code): "the error \(code.rawValue)"
        }
    }
}

extension HabitStoreError.Code {
    /// Whether the error is caused by the question and so part of its answer; other errors mean that the store could not be read.
    var isPartOfTheAnswer: Bool {
        [.invalidQuery, .unknownEntity, .unknownAttribute, .evaluationFailed, .unsupported].contains(self)
    }
}
