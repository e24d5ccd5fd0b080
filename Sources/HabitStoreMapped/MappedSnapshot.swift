import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite

/// A read transaction on an adopted file.
@_spi(Engines) public class MappedSnapshot: EngineSnapshot {
    let layout: MappedLayout
    /// The file's path, for errors.
    let path: String
    private let lent: MappedRows
    private let thread = TransactionThread()
    /// Why the records cannot be read: other programs' changes of them are not in the history. The bookkeeping can.
    private let refusal: HabitStoreError?

    init(
        _ connection: SQLiteConnection,
        _ layout: MappedLayout,
        refusal: HabitStoreError? = nil,
        isUnchanging: Bool = true
    ) {
        (self.layout, self.refusal) = (layout, refusal)
        path = connection.path
        lent = MappedRows(connection, layout, isUnchanging: isUnchanging)
    }

    /// The rows, during the transaction and on its thread.
    final var rows: MappedRows {
        get throws {
            try thread.require()
            if let refusal { throw refusal }
            return lent
        }
    }

    /// The connection, during the transaction and on its thread. Afterwards it is lent to others.
    final var connection: SQLiteConnection {
        get throws {
            try thread.require()
            return lent.connection
        }
    }

    /// Ends the transaction.
    final func end() { thread.end() }

    final func name(_ entity: Int) -> String { layout.schema.entities[entity].name }

    final func place(_ entity: Int) -> (table: MappedTable, part: TablePlan.Part) {
        let place = layout.entities[entity]
        return (layout.tables[place.table], place.part)
    }

    // MARK: Bookkeeping

    /// A value of the store's own bookkeeping, or nil.
    public func metadata(_ key: String) throws -> String? {
        try connection.withStatement(SQLiteFormat.selectMetadata) { statement in
            try statement.bind(key, at: 1)
            return try statement.step() ? try statement.text(at: 0) : nil
        }
    }

    /// The number of the last history transaction; 0 when there has been none.
    public func lastToken() throws -> Int64 { try SQLiteHistory(connection, .adopted).lastToken() }

    /// Hands the history transactions after a number to `body`, oldest first, until it returns false.
    public func history(after token: Int64, _ body: (HistoryTransaction) throws -> Bool) throws {
        try SQLiteHistory(connection, .adopted).walk(after: token, body)
    }

    /// The kept digest in whose range an identifier is.
    public func digestLeaf(entity: Int, covering id: UUID) throws -> DigestLeaf? {
        try SQLiteDigests(connection).leaf(of: name(entity), covering: id)
    }

    /// All kept digests of an entity, ascending.
    public func digestLeaves(entity: Int) throws -> [DigestLeaf]? {
        let leaves = try SQLiteDigests(connection).leaves(of: name(entity))
        return leaves.isEmpty ? nil : leaves
    }

    // MARK: Records

    /// The record of an identifier.
    final func record(entity: Int, id: UUID) throws -> EncodedRecord? {
        try withRecord(entity, id) { EncodedRecord(copying: $0.bytes) }
    }

    /// Lends the record of an identifier to `body`; nil when there is none.
    public func withRow<R>(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> R) throws -> R? {
        try withRecord(entity, id) { view in
            var reader = view.reader
            return try body(&reader)
        }
    }

    private func withRecord<R>(_ entity: Int, _ id: UUID, _ body: (RecordView) throws -> R) throws -> R? {
        let (table, part) = place(entity)
        let rows = try rows
        return try connection.withStatement(table.selectRecord) { statement in
            try statement.bind(id, at: 1)
            guard try statement.step(),
                try table.isAllOf(part) || rows.part(of: row(statement, table), table)?.index == part.index
            else { return nil }
            var writer = writer(entity)
            try rows.write(statement, id, table, part, to: &writer)
            return try lend(&writer, entity, body)
        }
    }

    /// Limits are for new values: those that the app has stored are carried over.
    private func writer(_ entity: Int) -> AttributeWriter {
        AttributeWriter(layout: layout.schema.entities[entity].layout, refusesLargeValues: false)
    }

    private func lend<R>(_ writer: inout AttributeWriter, _ entity: Int, _ body: (RecordView) throws -> R) throws -> R {
        try writer.finish { bytes in
            try body(RecordView(trusting: bytes, layout: layout.schema.entities[entity].layout))
        }
    }

    private func row(_ statement: SQLiteStatement, _ table: MappedTable) -> [SourceValue] {
        statement.row(MappedRows.firstColumn..<table.source.columns.count + MappedRows.firstColumn)
    }

    final func lend<R>(_ record: EncodedRecord, _ entity: Int, _ body: (inout AttributeReader) throws -> R) throws -> R
    {
        try record.withView(layout.schema.entities[entity].layout) { view in
            var reader = view.reader
            return try body(&reader)
        }
    }

    /// Whether there is a record of an identifier.
    public func contains(entity: Int, id: UUID) throws -> Bool {
        let (table, part) = place(entity)
        let rows = try rows
        guard let key = try rows.key(id, table), let row = try rows.row(key, table) else { return false }
        return try rows.part(of: row, table)?.index == part.index
    }

    /// The conditions on columns that candidates fulfil.
    public func plan(_ query: BoundQuery) throws -> MappedPlan {
        let table = place(query.entity).table
        var planner = MappedPlanner(try rows, query, textIsCanonical: try textIsCanonical(table))
        return try planner.plan()
    }

    /// Whether all texts of a table are in NFC.
    private func textIsCanonical(_ table: MappedTable) throws -> Bool {
        try metadata(AdoptedMetadata.mixedText(table.name)) == nil
    }

    /// Passes every candidate of a plan to `body` until it returns false.
    ///
    /// - Returns: how many rows of other entities were passed over.
    @discardableResult
    public func walk(_ plan: MappedPlan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int {
        let (table, part) = place(plan.entity)
        let isWhole = table.isAllOf(part)
        let rows = try rows
        var passed = 0
        var writer = writer(plan.entity)
        try connection.withStatement(plan.sql) { statement in
            try statement.bind(plan.bindings)
            while try statement.step() {
                if !isWhole, try rows.part(of: row(statement, table), table)?.entity != plan.entity {
                    passed += 1
                    continue
                }
                try rows.write(statement, try statement.uuid(at: 0), table, part, to: &writer)
                let goesOn = try lend(&writer, plan.entity) { view in
                    var reader = view.reader
                    return try body(&reader)
                }
                guard goesOn else { return }
            }
        }
        return passed
    }

    final func forEachCandidate(
        _ plan: MappedPlan,
        _ body: (UUID, [SourceValue], TablePlan.Part?) throws -> Bool
    ) throws {
        let table = place(plan.entity).table
        try connection.withStatement(plan.sql) { statement in
            try statement.bind(plan.bindings)
            while try statement.step() {
                let row = row(statement, table)
                guard try body(try statement.uuid(at: 0), row, try rows.part(of: row, table)) else { return }
            }
        }
    }

    /// The number of rows for a scan; otherwise nothing is known without reading.
    public func estimatedRows(_ plan: MappedPlan) throws -> Int? { plan.isScan ? try rowCount(plan.entity) : nil }

    private func rowCount(_ entity: Int) throws -> Int? {
        try connection.int64("SELECT count(*) FROM \(place(entity).table.quotedName)").map { Int($0) }
    }

    /// The number of records of a plan.
    public func count(_ plan: MappedPlan) throws -> Int {
        let (table, part) = place(plan.entity)
        if plan.isScan, table.isAllOf(part) {
            return try rowCount(plan.entity) ?? 0
        }
        var count = 0
        try forEachCandidate(plan) { _, _, found in
            if found?.entity == plan.entity { count += 1 }
            return true
        }
        return count
    }

    /// The identifiers of the records whose attribute equals `value` (for links: contains it), ascending.
    public func identifiers(entity: Int, attribute: Int, equalTo value: Value, limit: Int?) throws -> [UUID] {
        let (table, part) = place(entity)
        let rows = try rows
        var found: [UUID] = []
        func test(_ id: UUID, _ row: [SourceValue]) throws {
            guard try rows.part(of: row, table)?.index == part.index else { return }
            let stored = try rows.values(row, id, table, part)[attribute]
            if case .links(let links) = stored, case .uuid(let target) = value {
                if links.contains(target) { found.append(id) }
            } else if stored == value {
                found.append(id)
            }
        }
        if case .links(let links) = part.fields[attribute], case .uuid(let target) = value {
            try forEachOwner(links, of: target, table) { key in
                guard let id = try rows.identifier(key, table), let row = try rows.row(key, table) else { return }
                try test(id, row)
            }
        } else {
            var planner = MappedPlanner(
                rows,
                BoundQuery(entity: entity),
                textIsCanonical: try textIsCanonical(table)
            )
            try forEachCandidate(try planner.plan(attribute: attribute, equalTo: value)) { id, row, _ in
                try test(id, row)
                return true
            }
        }
        let sorted = Set(found).sorted { $0.isBefore($1) }
        return limit.map { Array(sorted.prefix($0)) } ?? sorted
    }

    /// Calls `body` with the key of each owner that may have a link to a target.
    private func forEachOwner(
        _ links: TablePlan.LinkTable,
        of target: UUID,
        _ table: MappedTable,
        _ body: ([SourceValue]) throws -> Void
    ) throws {
        guard let other = layout.table(links.leadsTo), let linkTable = layout.linkTable(links) else { return }
        let here = links.here.map { SQLiteFormat.quoted($0) }.joined(separator: ", ")
        var sql = "SELECT DISTINCT \(here) FROM \(SQLiteFormat.quoted(links.table))"
        var key: [SourceValue] = []
        // A text may be spelled in several ways, and a link without a record may not be known by its key.
        if layout.tables[other].hasNumberedKey, linkTable.leadsByNumbers,
            let known = try rows.key(target, layout.tables[other])
        {
            key = known
            sql += " WHERE "
            sql += links.there.enumerated().map { "\(SQLiteFormat.quoted($1)) = ?\($0 + 1)" }.joined(separator: " AND ")
        }
        var owners: [[SourceValue]] = []
        try connection.withStatement(sql) { statement in
            try statement.bind(key)
            while try statement.step() { owners.append(statement.row(0..<links.here.count)) }
        }
        for owner in owners where !owner.contains(.null) { try body(owner) }
    }

    /// The records of an entity in a range of identifiers.
    public func auditCursor(entity: Int, in range: IdentifierRange) throws -> any AuditCursor {
        try MappedAudit(rows, entity, range)
    }
}

/// Walks the rows of an entity in the order of their identifiers, and writes their canonical form from what the columns hold.
private final class MappedAudit: AuditCursor {
    private let rows: MappedRows
    private let entity: Int
    private let table: MappedTable
    private let statement: SQLiteStatement
    private let form = CanonicalForm()
    private(set) var identifier = IdentifierRange.all.first

    init(_ rows: MappedRows, _ entity: Int, _ range: IdentifierRange) throws {
        (self.rows, self.entity) = (rows, entity)
        table = rows.layout.tables[rows.layout.entities[entity].table]
        // A separate statement: the cursor outlives the call.
        statement = try rows.connection.prepare("\(table.select) WHERE k.id >= ?1 AND k.id <= ?2 ORDER BY k.id")
        try statement.bind(range.first, at: 1)
        try statement.bind(range.last, at: 2)
    }

    var canonical: UnsafeRawBufferPointer { form.bytes }

    func next() throws -> Bool {
        let columns = 1..<table.source.columns.count + 1
        while try statement.step() {
            let row = statement.row(columns)
            guard let part = try rows.part(of: row, table), part.entity == entity else { continue }
            identifier = try statement.uuid(at: 0)
            form.begin()
            form.append(try rows.values(row, identifier, table, part))
            return true
        }
        return false
    }
}

/// The keys of the bookkeeping that only adopted files have.
enum AdoptedMetadata {
    /// The version of the tables next to the app's.
    static let format = "mapped.format"
    static let newestFormat = 2
    /// The names of the tables and triggers that adopting made, as JSON.
    static let objects = "mapped.objects"
    /// The mapping, as JSON.
    static let mapping = "mapped.mapping"
    /// Whether the app enforces its foreign keys: `on` or `off`.
    static let foreignKeys = "mapped.foreignKeys"

    /// Present while the records are those of the user's other store: then triggers refuse the writes of other programs.
    static let fence = TableFile.fenceKey

    /// Present if a table has texts that are not in NFC.
    static func mixedText(_ table: String) -> String { "mapped.mixedText.\(table.sqlName.text)" }
}
