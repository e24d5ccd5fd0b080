import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// A consistent view of a store on a server at one moment.
@_spi(Engines) public class PostgresSnapshot: EngineSnapshot {
    let session: PostgresSession
    let catalog: PostgresCatalog
    package let buffer = IndexKeyBuffer()
    package internal(set) var keyCounts = 0
    #if PLANNER_MUTANTS
    package internal(set) var mutant: KeyPlannerMutant?
    #endif

    init(_ session: PostgresSession, _ catalog: PostgresCatalog) {
        self.session = session
        self.catalog = catalog
    }

    /// Always true: each query is a round trip.
    public static var waitsForAnswers: Bool { true }

    /// Defers a condition until the first answer, with which it is checked.
    public func whenBegun(_ check: @escaping () throws -> Void) throws { try session.check(check) }

    /// Asks the server. A writer first sends its deferred changes.
    func ask(_ calls: [PostgresCall]) throws -> [PostgresResult] { try session.ask(calls) }

    func ask(_ call: PostgresCall) throws -> PostgresResult { try ask([call])[0] }

    // MARK: Bookkeeping

    /// The last known bookkeeping. Numbers never change, so they need no query.
    var knownBookkeeping: PostgresBookkeeping? { session.bookkeeping }

    /// The store's bookkeeping.
    func bookkeeping() throws -> PostgresBookkeeping? {
        _ = try session.begun()
        return knownBookkeeping
    }

    /// A value of the store's own bookkeeping, or nil.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if the bookkeeping was changed outside the store's transactions: a missing role
    ///   would mean authoritative.
    public func metadata(_ key: String) throws -> String? {
        let bookkeeping = try bookkeeping()
        guard bookkeeping?.isAsWritten ?? true else {
            throw HabitStoreError.damage(
                "the store's bookkeeping is not what was written: it was changed past the store's transactions; restore a backup",
                at: .init(path: catalog.place)
            )
        }
        return bookkeeping?.metadata[key]
    }

    /// The number of an entity in rows.
    func number(_ entity: Int) throws -> Int16 {
        let bookkeeping = try knownBookkeeping ?? bookkeeping()
        guard let number = bookkeeping?.entities[entity] else {
            let name = catalog.keys.tables[entity].name
            throw HabitStoreError(
                .schemaMismatch,
                "the store has no entity \(name)",
                at: .init(path: catalog.place, entity: name)
            )
        }
        return number
    }

    /// The number of an index in rows.
    func number(_ index: KeyIndex) throws -> Int16 {
        let bookkeeping = try knownBookkeeping ?? bookkeeping()
        guard let number = bookkeeping?.indexNumbers[index.number] else {
            throw PostgresError.error(.schemaMismatch, "the store has no index \(index.name)", at: catalog.place)
        }
        return number
    }

    // MARK: Records

    /// Lends the record with an identifier to `body`; nil if there is none.
    public func withRow<R>(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> R) throws -> R? {
        let answer = try ask(PostgresCall(.record, .uuid(catalog.store), .int2(try number(entity)), .uuid(id)))
        return try lend(answer, entity, id, body)
    }

    /// Whether there is a record with an identifier.
    public func contains(entity: Int, id: UUID) throws -> Bool {
        try withRow(entity: entity, id: id) { _ in true } != nil
    }

    func lend<R>(
        _ answer: PostgresResult,
        _ entity: Int,
        _ id: UUID,
        _ body: (inout AttributeReader) throws -> R
    ) throws -> R? {
        guard answer.count > 0 else { return nil }
        return try withExtendedLifetime(answer) {
            var row = try view(entity, id, answer.bytes(0, 0)).reader
            return try body(&row)
        }
    }

    /// A record, after verifying its checksum and its identifier.
    func view(_ entity: Int, _ id: UUID, _ body: UnsafeRawBufferPointer?) throws -> RecordView {
        let table = catalog.keys.tables[entity]
        guard let body else {
            throw HabitStoreError.damage(
                "an index of \(table.name) leads to a record that does not exist; run `\(OperatorCommand.name) check`",
                at: .init(path: catalog.place, entity: table.name, id: id)
            )
        }
        do {
            let view = try RecordView(validating: body, layout: table.layout)
            guard try view.identifier() == id else {
                throw HabitStoreError.damage("a record is stored under an identifier other than its own")
            }
            return view
        } catch let error as HabitStoreError {
            throw HabitStoreError(
                error.code,
                error.message,
                at: .init(path: catalog.place, entity: table.name, id: id),
                isDamage: error.isDamage
            )
        }
    }

    /// The identifiers of the records whose attribute equals `value` (for links: contains it), ascending.
    public func identifiers(entity: Int, attribute: Int, equalTo value: Value, limit: Int?) throws -> [UUID] {
        try identifiersByKeys(entity: entity, attribute: attribute, equalTo: value, limit: limit)
    }

    // MARK: History

    /// The number of the last history transaction; 0 if there is none.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` if the history does not end there: a follower would miss the rest, and its tokens
    ///   would be reused.
    public func lastToken() throws -> Int64 {
        guard let head = try session.begun() else { return 0 }
        guard head.lastToken == head.token else {
            throw HabitStoreError.damage(
                "the history ends at token \(head.lastToken), and the store is at token \(head.token); restore a backup",
                at: .init(path: catalog.place)
            )
        }
        return head.token
    }

    /// Passes the history transactions after a number to `body`, oldest first, until it returns false.
    public func history(after token: Int64, _ body: (HistoryTransaction) throws -> Bool) throws {
        var assembler = HistoryAssembler(path: catalog.place, isOutline: false)
        var goesOn = true
        try forEachHistoryRecord(after: max(0, token)) { key, value in
            try assembler.add(key, value)
            for transaction in assembler.taken() where goesOn { goesOn = try body(transaction) }
            return goesOn
        }
        guard goesOn else { return }
        try assembler.finish()
        for transaction in assembler.taken() where goesOn { goesOn = try body(transaction) }
    }

    /// Passes the history's records after a number to `body`, in order, until it returns false.
    func forEachHistoryRecord(
        after token: Int64,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        var (token, sequence) = (token, Int32.max)
        var pageSize = PostgresWalk.firstPage
        while true {
            let page = try ask(
                PostgresCall(.history, .uuid(catalog.store), .int8(token), .int4(sequence), .int8(Int64(pageSize)))
            )
            for row in 0..<page.count {
                token = try page.number(row, 0, as: Int64.self)
                sequence = try page.number(row, 1, as: Int32.self)
                let key = HistoryKey(token: token, sequence: UInt64(UInt32(bitPattern: sequence)))
                let value = page.bytes(row, 2) ?? UnsafeRawBufferPointer(start: nil, count: 0)
                guard try key.withBytes({ try body($0, value) }) else { return }
            }
            guard page.isFull(pageSize, bodies: 2) else { return }
            pageSize = min(pageSize * 4, PostgresWalk.largestPage)
        }
    }

    // MARK: Evidence

    /// The lines of a rollout's evidence from a number on; for nil, the last one.
    public func evidence(from number: Int64?, limit: Int) throws -> [EvidenceRow] {
        let store = PostgresValue.uuid(catalog.store)
        let call = number.map { PostgresCall(.evidence, store, .int8($0), .int8(Int64(limit))) }
        let answer = try ask(call ?? PostgresCall(.lastEvidence, store))
        return try (0..<answer.count).map { row in
            EvidenceRow(
                number: try answer.number(row, 0, as: Int64.self),
                line: answer.bytes(row, 1).map(Array.init) ?? []
            )
        }
    }

    // MARK: Digests

    /// The stored digest whose range contains an identifier.
    public func digestLeaf(entity: Int, covering id: UUID) throws -> DigestLeaf? {
        let number = try number(entity)
        let answer =
            try session.openingLeaf(number, covering: id)
            ?? ask(PostgresCall(.digest, .uuid(catalog.store), .int2(number), .uuid(id)))
        guard let leaf = try leaves(answer).first else { return nil }
        guard leaf.range.contains(id) else { throw DigestCoder.damaged(catalog.place) }
        return leaf
    }

    /// All stored digests of an entity; nil if there are none.
    public func digestLeaves(entity: Int) throws -> [DigestLeaf]? {
        let found = try leaves(ask(PostgresCall(.digests, .uuid(catalog.store), .int2(try number(entity)))))
        return found.isEmpty ? nil : found
    }

    func leaves(_ answer: PostgresResult) throws -> [DigestLeaf] {
        try (0..<answer.count).map { row in
            guard let body = answer.bytes(row, 1) else { throw DigestCoder.damaged(catalog.place) }
            return try DigestCoder.leaf(body, first: try answer.uuid(row, 0), path: catalog.place)
        }
    }

    /// The records of an entity in a range of identifiers, decoded by a reader that no other part shares.
    public func auditCursor(entity: Int, in range: IdentifierRange) throws -> any AuditCursor {
        func key(_ id: UUID) -> [UInt8] { withUnsafeBytes(of: id.uuid) { Array($0) } }
        let walk = try PostgresWalk(
            self,
            .records,
            entity,
            [KeyRange(lower: key(range.first), upper: KeyOrder.successor(ofPrefix: key(range.last)))],
            reverse: false,
            // Most callers divide a digest, and the first page should have all of its records.
            most: 2 * DigestLeaf.maximumCount
        )
        return RecordAudit(catalog.schema.entities[entity], range, path: catalog.place) {
            try walk.next().map { ($0.key, $0.body ?? UnsafeRawBufferPointer(start: nil, count: 0)) }
        }
    }
}

/// The planner's view of the snapshot.
extension PostgresSnapshot: KeySnapshot {
    package var schema: Schema { catalog.schema }
    package var keyTables: KeyTables { catalog.keys }
    package var plans: KeyPlanCache { catalog.plans }
    package var isWritable: Bool { session.isWritable }
    package var readsRecordsLater: Bool { false }

    package var completeIndexes: CompleteIndexes {
        knownBookkeeping?.indexes ?? CompleteIndexes(nil, catalog.keys)
    }

    package func isComplete(_ index: KeyIndex) -> Bool {
        completeIndexes.contains(index) && knownBookkeeping?.indexNumbers[index.number] != nil
    }
}
