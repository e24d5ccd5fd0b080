import Foundation
@_spi(Engines) import HabitStore

/// The single write transaction: a snapshot that sees its own changes.
@_spi(Engines) public final class SQLiteWriter: SQLiteSnapshot, EngineWriter {
    /// The current walks, the innermost last.
    private var walks: [SQLiteWalk] = []

    /// Passes every candidate of a plan to `body` until it returns false.
    ///
    /// Changes made in `body` cannot move records into the path of the walk: the first change fixes the remaining identifiers, and
    /// each of those records is passed on only if it still exists and still meets the plan's conditions.
    @discardableResult
    public override func walk(_ plan: SQLitePlan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int {
        try connection.withStatement(plan.sql) { statement in
            try plan.bind(to: statement)
            let counter = try SQLiteWorkCounter(plan, statement)
            let row = try SQLiteRow(statement, plan.table, connection)
            let walk = SQLiteWalk(row)
            walks.append(walk)
            defer { walks.removeLast() }
            var handedOut = 0
            while walk.rest == nil, try statement.step() {
                handedOut += 1
                guard try row.withReader(body) else { return counter.passedOver(handedOut) }
            }
            guard let rest = walk.rest else { return counter.passedOver(handedOut) }
            // The remaining records were visited in order to fix their identifiers.
            let passed = max(0, counter.passedOver(handedOut) - rest.count)
            try recheck(plan, rest, body)
            return passed
        }
    }

    private func recheck(_ plan: SQLitePlan, _ rest: [UUID], _ body: (inout AttributeReader) throws -> Bool) throws {
        for id in rest {
            let goesOn = try connection.withStatement(plan.recheckSQL) { statement in
                try plan.bindConditions(to: statement)
                try statement.bind(id, at: Int32(plan.bindings.count + 1))
                guard try statement.step() else { return true }
                return try SQLiteRow(statement, plan.table, connection).withReader(body)
            }
            guard goesOn else { return }
        }
    }

    func fixWalks() throws {
        for walk in walks { try walk.fix() }
    }

    // MARK: Records

    /// Stores a record under an identifier that is not in use.
    public func insert(entity: Int, id: UUID, record: RecordView) throws -> Bool {
        try fixWalks()
        let table = tables[entity]
        let isNew = try connection.withStatement(table.insert) { statement in
            try statement.bind(record, table)
            try statement.run()
            return try connection.changes > 0
        }
        guard isNew else { return false }
        try insertLinks(table, id, record)
        return true
    }

    func insertLinks(_ table: SQLiteTable, _ id: UUID, _ record: RecordView) throws {
        for position in table.linkPositions {
            guard let links = table.links[position] else { continue }
            // Links that a damaged store kept of an earlier record must not become those of this one.
            try run(links.deleteAll, id)
            for target in try record.links(at: position) { try run(links.insert, id, target) }
        }
    }

    /// Replaces a record; `old` is the stored one.
    public func update(entity: Int, id: UUID, record: RecordView, replacing old: RecordView) throws {
        try fixWalks()
        let table = tables[entity]
        let changed = try table.columnPositions.filter { try !record.hasSameValue(as: old, at: $0) }
        if !changed.isEmpty {
            try connection.withStatement(table.update(changed)) { statement in
                try statement.bind(id, at: 1)
                for (index, position) in changed.enumerated() {
                    try statement.bind(record, position, table.kinds[position], at: Int32(index + 2))
                }
                try statement.run()
            }
            try requireOneChange(table, id)
        }
        for position in table.linkPositions {
            guard let links = table.links[position] else { continue }
            let before = Set(try old.links(at: position))
            let after = Set(try record.links(at: position))
            for target in before.subtracting(after) { try run(links.delete, id, target) }
            for target in after.subtracting(before) { try run(links.insert, id, target) }
        }
    }

    /// Removes a record; `old` is the stored one.
    public func delete(entity: Int, id: UUID, record old: RecordView) throws {
        try fixWalks()
        let table = tables[entity]
        try run(table.delete, id)
        try requireOneChange(table, id)
        for links in table.links { if let links { try run(links.deleteAll, id) } }
    }

    /// The caller has just read the record. If it is missing now, the file is inconsistent.
    private func requireOneChange(_ table: SQLiteTable, _ id: UUID) throws {
        let connection = try connection
        guard connection.changes != 1 else { return }
        throw HabitStoreError.damage(
            "a \(table.description.name) that was read a moment ago cannot be found again; run `\(OperatorCommand.name) check`",
            at: .init(path: connection.path, entity: table.description.name, id: id)
        )
    }

    private func run(_ sql: String, _ ids: UUID...) throws {
        try connection.withStatement(sql) { statement in
            for (index, id) in ids.enumerated() { try statement.bind(id, at: Int32(index + 1)) }
            try statement.run()
        }
    }

    // MARK: Bookkeeping and history

    /// Sets or removes a value of the store's own bookkeeping.
    public func setMetadata(_ key: String, _ value: String?) throws {
        forgetTextForm()
        guard let value else {
            return try connection.withStatement("DELETE FROM habitstore_metadata WHERE key = ?1") { statement in
                try statement.bind(key, at: 1)
                try statement.run()
            }
        }
        try connection.withStatement(SQLiteFormat.replaceMetadata) { statement in
            try statement.bind(key, at: 1)
            try statement.bind(value, at: 2)
            try statement.run()
        }
    }

    /// Appends to the history. Tokens must be ascending.
    public func append(_ transaction: HistoryTransaction) throws { try SQLiteHistory(connection).append(transaction) }

    /// Removes the history up to and including a token.
    public func pruneHistory(through token: Int64) throws { try SQLiteHistory(connection).prune(through: token) }
}

/// A walk in a write transaction, during which records may change.
private final class SQLiteWalk {
    private let row: SQLiteRow
    /// The remaining identifiers, once they are fixed.
    private(set) var rest: [UUID]?

    init(_ row: SQLiteRow) { self.row = row }

    /// Reads the remaining identifiers, before the first change of a record.
    func fix() throws {
        guard rest == nil else { return }
        var identifiers: [UUID] = []
        while try row.statement.step() { identifiers.append(try row.identifier()) }
        rest = identifiers
    }
}

extension RecordView {
    fileprivate func links(at position: Int) throws -> [UUID] {
        guard case .links(let ids) = try value(at: position) else { return [] }
        return ids
    }

    fileprivate func hasSameValue(as other: RecordView, at position: Int) throws -> Bool {
        guard isNull(at: position) == other.isNull(at: position) else { return false }
        return try rawBytes(at: position).elementsEqual(other.rawBytes(at: position))
    }
}

/// Inserting many records at a time.
@_spi(Engines) extension SQLiteWriter {
    /// Stores the records of a batch under identifiers that are not in use. If it pays, it stores them in the order of the table
    /// and rebuilds the indexes afterwards; otherwise it keeps the given order, which is often that of an index.
    ///
    /// - Returns: the place of the first record whose identifier is taken; nil if all were stored.
    public func insert(entity: Int, _ batch: RecordBatch) throws -> Int? {
        try fixWalks()
        let table = tables[entity]
        let rebuild = try SQLiteIndexRebuild(table, inserting: batch.count, connection)
        let isSorted = !rebuild.isEmpty || table.columnIndexes.isEmpty
        try rebuild.drop()
        if let taken = try insert(batch, isSorted ? batch.placesByIdentifier : Array(0..<batch.count), table) {
            return taken
        }
        try rebuild.make()
        guard !table.linkPositions.isEmpty else { return nil }
        for place in batch.placesByIdentifier {
            try insertLinks(table, batch.identifier(at: place), batch[place])
        }
        return nil
    }

    private func insert(_ batch: RecordBatch, _ places: [Int], _ table: SQLiteTable) throws -> Int? {
        try connection.withStatement(table.insert) { statement in
            var taken: Int?
            for place in places {
                try statement.bind(batch[place], table)
                try statement.run()
                if try connection.changes == 0 { taken = min(taken ?? Int.max, place) }
            }
            return taken
        }
    }
}

/// Drops indexes while many records are inserted and rebuilds them afterwards: SQLite then sorts all entries instead of searching
/// for the place of each record in each index. Everything happens in one transaction, which has all indexes when it commits.
struct SQLiteIndexRebuild {
    /// The least number of records for which a schema change pays: after it, other connections prepare their statements again.
    private static let leastCount = 2_000

    private let indexes: [SQLiteColumnIndex]
    private let connection: SQLiteConnection

    /// - Parameter count: the number of records that will be inserted.
    init(_ table: SQLiteTable, inserting count: Int, _ connection: SQLiteConnection) throws {
        self.connection = connection
        // An index cannot be dropped while a statement reads, and a rebuild also sorts the records that are already there.
        guard count >= Self.leastCount, !table.columnIndexes.isEmpty, !connection.isReading,
            try Self.hasAtMost(2 * count, table, connection)
        else {
            indexes = []
            return
        }
        indexes = try table.columnIndexes.filter { try Self.isAsDeclared($0, connection) }
    }

    /// Whether there is nothing to rebuild.
    var isEmpty: Bool { indexes.isEmpty }

    /// Only indexes that would come out the same: a file keeps the indexes of earlier versions unchanged.
    private static func isAsDeclared(_ index: SQLiteColumnIndex, _ connection: SQLiteConnection) throws -> Bool {
        try connection.withStatement("SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?1") { statement in
            try statement.bind(index.name, at: 1)
            return try statement.step() && !statement.isNull(at: 0) && statement.text(at: 0) == index.definition
        }
    }

    private static func hasAtMost(_ limit: Int, _ table: SQLiteTable, _ connection: SQLiteConnection) throws -> Bool {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM \(table.name) LIMIT ?1)"
        return try connection.withStatement(sql) { statement in
            try statement.bind(Int64(limit) + 1, at: 1)
            return try statement.step() && statement.int64(at: 0) <= Int64(limit)
        }
    }

    func drop() throws {
        for index in indexes { try connection.exec("DROP INDEX \(SQLiteFormat.quoted(index.name))") }
    }

    func make() throws {
        for index in indexes { try connection.exec(index.definition) }
    }
}
