import Foundation
@_spi(Engines) import HabitStore

/// A read transaction, which sees the store at one moment.
@_spi(Engines) public class SQLiteSnapshot: EngineSnapshot {
    private let lent: SQLiteConnection
    private let thread = TransactionThread()
    let tables: [SQLiteTable]
    private let isKnownCanonical: Bool
    private(set) var textForm: Bool?
    /// Whether there is a table of digests; nil before the first query for it.
    var hasDigests: Bool?
    #if PLANNER_MUTANTS
    /// A planner bug, planted by tests of the checks that must find it.
    var mutant: SQLitePlannerMutant?
    /// How selective semi-joins must be, in tests.
    var joinShare: Int?
    #endif

    /// - Parameters:
    ///   - isKnownCanonical: whether an earlier snapshot has found all text to be in NFC.
    ///   - hasDigests: whether an earlier snapshot has found the table of digests.
    init(_ connection: SQLiteConnection, _ tables: [SQLiteTable], isKnownCanonical: Bool, hasDigests: Bool) {
        lent = connection
        self.tables = tables
        self.isKnownCanonical = isKnownCanonical
        self.hasDigests = hasDigests ? true : nil
    }

    /// The connection, during the transaction and on its thread. Afterwards it is lent to others.
    final var connection: SQLiteConnection {
        get throws {
            try thread.require()
            return lent
        }
    }

    /// Ends the transaction. From now on another transaction may use the connection.
    final func end() { thread.end() }

    // MARK: Bookkeeping

    /// A value of the store's own bookkeeping, or nil.
    public func metadata(_ key: String) throws -> String? {
        try connection.withStatement(SQLiteFormat.selectMetadata) { statement in
            try statement.bind(key, at: 1)
            return try statement.step() ? try statement.text(at: 0) : nil
        }
    }

    /// Whether all text in the store is in NFC, so that its bytes can be compared. Text in older stores may not be.
    func textIsCanonical() throws -> Bool {
        if isKnownCanonical { return true }
        if let textForm { return textForm }
        let found = try metadata(MetadataKey.textForm) == MetadataKey.nfc
        textForm = found
        return found
    }

    /// Discards what is known about the text's form.
    func forgetTextForm() { textForm = nil }

    // MARK: Reading

    /// Lends the record with an identifier to `body`; nil if there is none.
    public func withRow<R>(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> R) throws -> R? {
        let table = tables[entity]
        return try connection.withStatement(table.selectOne) { statement in
            try statement.bind(id, at: 1)
            guard try statement.step() else { return nil }
            return try SQLiteRow(statement, table, connection).withReader(body)
        }
    }

    /// Translates a query to SQL, as far as this preserves its meaning.
    public func plan(_ query: BoundQuery) throws -> SQLitePlan {
        #if PLANNER_MUTANTS
        var planner = try SQLitePlanner(tables, textIsCanonical: textIsCanonical(), connection)
        planner.joinShare = joinShare ?? planner.joinShare
        return try mutant?.plan(query, planner) ?? planner.plan(query)
        #else
        return try SQLitePlanner(tables, textIsCanonical: textIsCanonical(), connection).plan(query)
        #endif
    }

    /// Passes every candidate of a plan to `body` until it returns false. A row is valid during the call.
    @discardableResult
    public func walk(_ plan: SQLitePlan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int {
        try connection.withStatement(of: plan) { statement in
            try plan.bind(to: statement)
            let counter = try SQLiteWorkCounter(plan, statement)
            var handedOut = 0
            try SQLiteRow(statement, plan.table, connection).withReader { reader in
                while try statement.step() {
                    handedOut &+= 1
                    guard try body(&reader) else { return }
                    reader.rewind()
                }
            }
            return counter.passedOver(handedOut)
        }
    }

    /// The approximate number of rows that the access path reaches.
    public func estimatedRows(_ plan: SQLitePlan) throws -> Int? { try plan.estimatedRows() }

    /// The number of records of a plan whose filter is exact, regardless of its window.
    public func count(_ plan: SQLitePlan) throws -> Int {
        try connection.withStatement(plan.countSQL) { statement in
            try plan.bindConditions(to: statement)
            return try statement.step() ? Int(statement.int64(at: 0)) : 0
        }
    }

    /// The identifiers of the records whose attribute equals `value` (for links: contains it), ascending.
    public func identifiers(entity: Int, attribute: Int, equalTo value: Value, limit: Int?) throws -> [UUID] {
        let table = tables[entity]
        switch (table.description.attributes[attribute].kind, value) {
        case (.links, .uuid): break
        case (.links, _): return []
        case (.strings, _), (_, .strings), (_, .links):
            return try identifiersByValue(table, attribute, value, limit, everything: true)
        case (.string, .string) where try !textIsCanonical():
            return try identifiersByValue(table, attribute, value, limit, everything: false)
        default: break
        }
        return try connection.withStatement(table.selectIdentifiers[attribute]) { statement in
            try statement.bind(value, at: 1)
            try statement.bind(limit.map { Int64(max(0, $0)) } ?? -1, at: 2)
            var identifiers: [UUID] = []
            let row = try SQLiteRow(statement, table, connection)
            while try statement.step() { identifiers.append(try row.identifier()) }
            return identifiers
        }
    }

    /// Compares the records themselves, for kinds in which equal values can have different bytes.
    ///
    /// - Parameter everything: whether to compare all records. Otherwise only texts with the same bytes and texts that are not all
    ///   ASCII, which may be other forms of the same text. (`length` stops at a NUL, so a text with one is compared too.)
    private func identifiersByValue(
        _ table: SQLiteTable,
        _ attribute: Int,
        _ value: Value,
        _ limit: Int?,
        everything: Bool
    ) throws -> [UUID] {
        let column = "t0." + table.columns[attribute]
        let condition =
            everything ? "" : " WHERE \(column) = ?1 OR length(\(column)) <> length(CAST(\(column) AS BLOB))"
        return try connection.withStatement(table.selection + condition + " ORDER BY t0.\"id\"") { statement in
            if !everything { try statement.bind(value, at: 1) }
            let row = try SQLiteRow(statement, table, connection)
            var identifiers: [UUID] = []
            while identifiers.count < limit ?? Int.max, try statement.step() {
                if try row.value(attribute) == value { identifiers.append(try row.identifier()) }
            }
            return identifiers
        }
    }

    // MARK: History

    /// The number of the last history transaction; 0 if there is none.
    public func lastToken() throws -> Int64 { try SQLiteHistory(connection).lastToken() }

    /// Passes the history transactions after a number to `body`, oldest first, until it returns false.
    public func history(after token: Int64, _ body: (HistoryTransaction) throws -> Bool) throws {
        try SQLiteHistory(connection).walk(after: token, body)
    }
}

extension SQLiteStatement {
    /// Binds a value in the form that a column of its kind stores.
    func bind(_ value: Value, at index: Int32) throws {
        switch value {
        case .null: try bindNull(at: index)
        case .bool(let flag): try bind(Int64(flag ? 1 : 0), at: index)
        case .int(let number): try bind(number, at: index)
        case .double(let number): try bind(number, at: index)
        case .string(let text): try bind(text, at: index)
        case .date(let date): try bind(date.timeIntervalSinceReferenceDate, at: index)
        case .uuid(let id): try bind(id, at: index)
        case .data(let data): try data.withUnsafeBytes { try bind($0, at: index) }
        case .strings(let texts): try bind(SQLiteTextList.encode(texts), at: index)
        case .links:
            throw HabitStoreError(.internalInconsistency, "links cannot be stored in a column")
        }
    }
}

/// State that an engine keeps with a connection between transactions.
final class SQLiteConnectionNotes {
    /// The definitions that the file was last found to match, and the schema cookie at that time.
    var judged: (cookie: Int64, definitions: SQLiteDefinitions)?
    /// The plans of earlier queries, created with the first of them.
    private(set) lazy var plans = SQLitePlanCache()
    /// How often rows were counted in order to choose a plan.
    var probes: UInt64 = 0
}

extension SQLiteConnection {
    /// The engine's state for this connection.
    var notes: SQLiteConnectionNotes {
        if let notes = companion as? SQLiteConnectionNotes { return notes }
        let notes = SQLiteConnectionNotes()
        companion = notes
        return notes
    }

    /// Lends the statement of a plan. A cached plan keeps its statement, which saves the lookup by SQL text.
    func withStatement<T>(of plan: SQLitePlan, _ body: (SQLiteStatement) throws -> T) throws -> T {
        guard let kept = plan.kept else { return try withStatement(plan.sql, body) }
        try checkOpen()
        if let statement = kept.statement, cache.borrow(statement) {
            defer { giveBack(statement) }
            return try body(statement)
        }
        let statement = try borrowStatement(plan.sql)
        if statement.isKept { kept.statement = statement }
        defer { giveBack(statement) }
        return try body(statement)
    }
}

/// Counts the records that a statement visits in addition to the rows that it returns.
struct SQLiteWorkCounter {
    private let statement: SQLiteStatement
    private let visits: SQLiteVisits?
    private let scansOneTable: Bool

    /// Starts counting; call it just before the statement runs.
    init(_ plan: SQLitePlan, _ statement: SQLiteStatement) throws {
        self.statement = statement
        scansOneTable = plan.scansOneTable
        visits = plan.countsVisits ? try plan.connection.countingVisits() : nil
        visits?.reset()
        _ = statement.takeScanSteps()
    }

    /// The number of records that were visited but not returned: all of them if the plan counts visits, otherwise those that a scan
    /// of the whole table skipped, which SQLite counts anyway.
    func passedOver(_ handedOut: Int) -> Int {
        if let visits { return max(0, visits.count - handedOut) }
        guard scansOneTable else { return 0 }
        let steps = statement.takeScanSteps()
        // The first row of a scan does not count as a step.
        return steps > 0 ? max(0, steps + 1 - handedOut) : 0
    }
}
