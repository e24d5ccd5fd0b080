import Foundation

/// One moment of a store. Everything read in it belongs together, whatever is written meanwhile.
///
/// It is valid inside of the closure that it is given to, on one thread at a time; afterwards its methods throw
/// ``HabitStoreError/Code/transactionEnded``.
public protocol ReadTransaction: RowSource {
    /// The store's schema.
    var schema: Schema { get }

    /// The history token of this moment.
    func currentToken() throws -> HistoryToken

    /// Makes a fetch ready for this transaction.
    @_spi(Engines) func prepare<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> PreparedFetch

    /// How much work all queries of this transaction have been so far. It can still be read when the transaction has ended; on another
    /// thread while the closure runs, reading it stops the program with a sentence that says so.
    var statistics: FetchStatistics { get }

    /// The number of records of a fetch, its window applied.
    @_spi(Engines) func count(_ fetch: PreparedFetch) throws -> Int

    /// Tests single records against the condition of a fetch that was prepared for this transaction.
    @_spi(Engines) func matcher(of fetch: PreparedFetch) throws -> RowMatcher

    /// How a fetch is answered.
    @_spi(Engines) func explain(_ fetch: PreparedFetch) throws -> QueryExplanation

    /// Hands the history transactions after a token to `body`, oldest first, until it returns false.
    ///
    /// - Throws: ``HabitStoreError/Code/historyExpired`` when some of them were pruned.
    func enumerateHistory(after token: HistoryToken, _ body: (HistoryTransaction) throws -> Bool) throws

    /// The store's information about itself.
    func information() throws -> StoreInformation
}

extension ReadTransaction {
    /// The record of an identifier, or nil.
    public func model<M: PersistentModel>(_ type: M.Type, id: UUID) throws -> M? {
        try M.model(entity: try schema.position(of: type), id: id, in: self)
    }

    /// The records of a fetch, in order.
    public func fetch<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> [M] {
        try M.models(of: try prepare(descriptor), in: self)
    }

    /// Hands each record of a fetch to `body`, in order, until it returns false.
    ///
    /// - Returns: how much work it was.
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` where evaluating the predicate would trap in Swift.
    @discardableResult
    public func enumerate<M: PersistentModel>(
        _ descriptor: FetchDescriptor<M>,
        _ body: (M) throws -> Bool
    ) throws -> FetchStatistics {
        try M.enumerate(try prepare(descriptor), in: self, body)
    }

    /// The number of records of a fetch, its window applied.
    public func fetchCount<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> Int {
        try count(try prepare(descriptor))
    }

    /// The identifiers of a fetch, in order.
    public func fetchIdentifiers<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> [UUID] {
        var fetch = try prepare(descriptor)
        fetch.query.projection = [0]
        var identifiers: [UUID] = []
        try enumerateRows(fetch) { row in
            identifiers.append(try row.nextUUID())
            return true
        }
        return identifiers
    }

    /// Only the named attributes of the records of a fetch, in order; nothing else is decoded.
    @inlinable
    public func project<M: PersistentModel>(
        _ descriptor: FetchDescriptor<M>,
        _ properties: [PartialKeyPath<M>]
    ) throws -> [Projection<M>] {
        try project(descriptor, try ProjectedAttributes(properties, schema: schema))
    }

    @inlinable
    func project<M: PersistentModel>(
        _ descriptor: FetchDescriptor<M>,
        _ attributes: ProjectedAttributes
    ) throws -> [Projection<M>] {
        var projections: [Projection<M>] = []
        try enumerateRows(try prepare(descriptor, for: attributes)) { row in
            projections.append(try Projection(attributes, of: &row))
            return true
        }
        return projections
    }

    @usableFromInline
    func prepare<M: PersistentModel>(
        _ descriptor: FetchDescriptor<M>,
        for attributes: ProjectedAttributes
    ) throws -> PreparedFetch {
        var fetch = try prepare(descriptor)
        fetch.query.projection = attributes.positions
        return fetch
    }

    /// How a fetch is answered.
    public func explain<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> QueryExplanation {
        try explain(try prepare(descriptor))
    }

    /// Runs a fetch, and says how it was answered and how much work that was; everything that the engine looks at is
    /// counted, which may cost some time.
    @_spi(Engines) public func analyze(_ fetch: PreparedFetch) throws -> QueryAnalysis {
        var fetch = fetch
        fetch.query.isAnalyzed = true
        let explanation = try explain(fetch)
        let clock = ContinuousClock()
        let start = clock.now
        let statistics = try enumerateRows(fetch) { _ in true }
        return QueryAnalysis(
            explanation: explanation,
            statistics: statistics,
            seconds: start.duration(to: clock.now) / .seconds(1)
        )
    }

    /// Runs a fetch, and says how it was answered and how much work that was.
    public func analyze<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> QueryAnalysis {
        try analyze(try prepare(descriptor))
    }

    /// Runs a query without a Swift type, and says how it was answered and how much work that was.
    public func analyze(_ query: RecordQuery) throws -> QueryAnalysis {
        try analyze(try PreparedFetch(query, schema: schema))
    }

    /// All records of a model, by identifier.
    public func all<M: PersistentModel>(_ type: M.Type) throws -> [M] { try fetch(FetchDescriptor<M>()) }

    /// Hands the records of a fetch to `body` in batches, in order; only one batch is in memory when the order comes
    /// from an index.
    public func enumerate<M: PersistentModel>(
        _ descriptor: FetchDescriptor<M>,
        batchSize: Int,
        _ body: ([M]) throws -> Void
    ) throws {
        var batch: [M] = []
        try enumerate(descriptor) { model in
            batch.append(model)
            if batch.count >= max(1, batchSize) {
                try body(batch)
                batch.removeAll(keepingCapacity: true)
            }
            return true
        }
        if !batch.isEmpty { try body(batch) }
    }

    /// One page of a fetch. The cursor of the page before, in the descriptor, says where it begins, so that records
    /// inserted or deleted meanwhile neither repeat nor skip any other.
    ///
    /// The descriptor's `fetchLimit` is that of all pages together: a limit of 25 in pages of 10 gives 10, 10 and 5.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidQuery`` for a size below 1, and for the cursor of another entity or order.
    public func fetchPage<M: PersistentModel>(_ descriptor: FetchDescriptor<M>, size: Int) throws -> Page<M> {
        guard size > 0 else {
            throw HabitStoreError(.invalidQuery, "pages of \(size) records never end; ask for 1 or more")
        }
        var descriptor = descriptor
        // The offset is skipped once, before the first page; a cursor stands after it.
        if descriptor.cursor != nil { descriptor.fetchOffset = 0 }
        let left = descriptor.fetchLimit.map { min($0, descriptor.cursor?.left ?? $0) }
        descriptor.fetchLimit = min(left ?? Int.max, min(size, Int.max - 1) + 1)
        var models = try fetch(descriptor)
        guard models.count > size, let last = models.dropLast(models.count - size).last else {
            return Page(models: models, next: nil)
        }
        models.removeSubrange(size...)
        let order = BoundQuery(entity: try schema.position(of: M.self), order: try descriptor.order(in: schema)).order
        let attributes = M.entity.attributes
        let keys = try order.map { try attributes[$0.position].extract(last) }
        return Page(
            models: models,
            next: PageCursor(keys: keys, left: left.map { $0 - size }, order: PageCursor.orderText(M.entity, order))
        )
    }

    /// The record that a to-one relationship leads to, or nil.
    public func related<M: PersistentModel, D: PersistentModel>(_ keyPath: KeyPath<M, D?>, of model: M) -> D? {
        model[keyPath: keyPath]
    }

    /// The records that a to-many relationship leads to, ascending by identifier.
    public func related<M: PersistentModel, D: PersistentModel>(_ keyPath: KeyPath<M, [D]>, of model: M) -> [D] {
        model[keyPath: keyPath]
    }

    /// The history transactions after a token, oldest first.
    ///
    /// - Parameters:
    ///   - token: the last token that the caller has.
    ///   - limit: how many at most; nil for all.
    /// - Throws: ``HabitStoreError/Code/historyExpired`` when some of them were pruned.
    public func fetchHistory(after token: HistoryToken, limit: Int? = nil) throws -> [HistoryTransaction] {
        var transactions: [HistoryTransaction] = []
        if let limit, limit <= 0 { return [] }
        try enumerateHistory(after: token) {
            transactions.append($0)
            return limit.map { transactions.count < $0 } ?? true
        }
        return transactions
    }

    /// Hands each record of a query without a Swift type to `body`, in order, until it returns false.
    @discardableResult
    public func enumerateRecords(_ query: RecordQuery, _ body: (Record) throws -> Bool) throws -> FetchStatistics {
        let fetch = try PreparedFetch(query, schema: schema)
        let entity = fetch.query.entity
        let positions = schema.entities[entity].attributes.indices
        return try enumerateRows(fetch) { row in
            let values = try positions.map { try row.value(at: $0) }
            return try body(Record(entity: entity, id: try row.nextUUID(), values: values))
        }
    }

    /// The number of records of a query without a Swift type.
    public func countRecords(_ query: RecordQuery) throws -> Int { try count(try PreparedFetch(query, schema: schema)) }

    /// How a query without a Swift type is answered.
    public func explain(_ query: RecordQuery) throws -> QueryExplanation {
        try explain(try PreparedFetch(query, schema: schema))
    }

    /// The records of a query without a Swift type, in order.
    public func records(_ query: RecordQuery) throws -> [Record] {
        var records: [Record] = []
        try enumerateRecords(query) {
            records.append($0)
            return true
        }
        return records
    }
}

extension ReadTransaction {
    /// Whether a model fulfils a condition, with its relationships followed in this transaction. The model need not be stored.
    ///
    /// Outside of a transaction `predicate.evaluate(model)` ends the process where the predicate reads a relationship; this is
    /// the way to ask it: `try store.read { try $0.matches(model, filter) }`.
    ///
    /// - Throws: ``HabitStoreError/Code/evaluationFailed`` where evaluating the condition would trap in Swift;
    ///   ``HabitStoreError/Code/transactionEnded`` outside of the transaction's closure or thread;
    ///   ``HabitStoreError/Code/unknownAttribute`` for a name that the entity does not have;
    ///   ``HabitStoreError/Code/invalidValue`` for a model that no store can keep.
    public func matches<M: PersistentModel>(_ model: M, _ filter: Filter<M>) throws -> Bool {
        let matcher = try matcher(of: try prepare(FetchDescriptor(filter: filter)))
        let layout = schema.layouts[try schema.position(of: M.self)]
        var writer = AttributeWriter(layout: layout)
        try model.write(to: &writer)
        return try writer.finish { bytes in
            var reader = RecordView(trusting: bytes, layout: layout).reader
            let isMatch = try matcher.matches(&reader)
            try matcher.rethrow()
            return isMatch
        }
    }

    /// Whether a model fulfils a predicate, with its relationships followed in this transaction; see ``matches(_:_:)``.
    public func matches<M: PersistentModel>(_ model: M, _ predicate: Predicate<M>) throws -> Bool {
        try matches(model, .predicate(predicate))
    }
}

/// The one write transaction at a time: sees its own changes, and is durable, all of it, when its closure has returned.
public protocol WriteTransaction: ReadTransaction {
    /// Stores a new record.
    ///
    /// - Throws: ``HabitStoreError/Code/uniqueViolation`` when its identifier or another unique value is taken, with
    ///   the entity, the attribute, and the identifier of the record that has it;
    ///   ``HabitStoreError/Code/invalidValue`` for NaN and infinities.
    func insert<M: PersistentModel>(_ model: M) throws

    /// Stores many new records, with the same outcome as ``insert(_:)`` for each in order, but faster, since an engine may write them in the order that
    /// suits it.
    ///
    /// All of them are checked and encoded before the first is stored, up to 16 MiB or 262,144 records at a time, which bounds the memory of a load of
    /// any size.
    ///
    /// - Parameters:
    ///   - progress: gets the number of records taken so far now and then, and the total at the end; an error that it throws ends the insertion. It
    ///     must not use the transaction.
    /// - Throws: the error of ``insert(_:)`` for the first record, in order, that cannot be stored. The transaction is then undone: if the error is
    ///   caught inside it, everything after fails, and so does the commit.
    func insert<M: PersistentModel>(contentsOf models: [M], progress: (Int) throws -> Void) throws

    /// Stores a record: a new one, or the new state of the one that has its identifier.
    ///
    /// A reference that is new or changed must lead to a record by the end of the transaction. So must one to a record that the
    /// transaction has deleted, unless the delete rule is ``DeleteRule/noAction``; otherwise the commit throws
    /// ``HabitStoreError/Code/danglingReference``.
    ///
    /// - Throws: as ``insert(_:)`` does, but for the identifier.
    func save<M: PersistentModel>(_ model: M) throws

    /// Deletes the record of an identifier, and does to the records on the other side of its relationships what the
    /// delete rules say.
    ///
    /// - Returns: whether there was one.
    /// - Throws: ``HabitStoreError/Code/deleteDenied`` when a rule forbids it.
    @discardableResult
    func delete<M: PersistentModel>(_ type: M.Type, id: UUID) throws -> Bool

    /// Forgets the history up to and including a token. Consumers that have not reached it get ``HabitStoreError/Code/historyExpired``.
    func pruneHistory(through token: HistoryToken) throws
}

extension WriteTransaction {
    /// Stores many new records; see the form with progress.
    public func insert<M: PersistentModel>(contentsOf models: [M]) throws {
        try insert(contentsOf: models) { _ in }
    }

    /// Stores many new records from a lazy sequence, 65,536 at a time; see the form for arrays.
    public func insert<M: PersistentModel>(
        contentsOf models: some Sequence<M>,
        progress: (Int) throws -> Void = { _ in }
    ) throws {
        var (gathered, done): ([M], Int) = ([], 0)
        func store() throws {
            try insert(contentsOf: gathered) { try progress(done + $0) }
            done += gathered.count
            gathered.removeAll(keepingCapacity: true)
        }
        for model in models {
            gathered.append(model)
            if gathered.count == 1 << 16 { try store() }
        }
        if !gathered.isEmpty || done == 0 { try store() }
    }

    /// Deletes a record.
    @discardableResult
    public func delete<M: PersistentModel>(_ model: M) throws -> Bool { try delete(M.self, id: model.id) }

    /// Deletes the records of a fetch, by the same path as a fetch finds them.
    ///
    /// - Returns: how many.
    @discardableResult
    public func delete<M: PersistentModel>(_ descriptor: FetchDescriptor<M>) throws -> Int {
        var count = 0
        for id in try fetchIdentifiers(descriptor) where try delete(M.self, id: id) { count += 1 }
        return count
    }

    /// Deletes the records that fulfil a predicate.
    ///
    /// - Returns: how many.
    @discardableResult
    public func delete<M: PersistentModel>(_ type: M.Type, where predicate: Predicate<M>) throws -> Int {
        try delete(FetchDescriptor(predicate: predicate))
    }
}
