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
