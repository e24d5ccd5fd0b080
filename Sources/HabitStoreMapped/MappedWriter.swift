import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite

/// The write transaction on an adopted file: writes rows as the app would.
@_spi(Engines) public final class MappedWriter: MappedSnapshot, EngineWriter {
    /// The last number in the log of changes that is dealt with.
    private var lastLogged: Int64 = 0
    /// Whether statements have changed other rows than those they were for: by triggers and cascades of the app's.
    private var hasConsequences = false
    /// What became of records past the transaction's own changes, in order.
    private(set) var foreignChanges: [ForeignChange] = []

    /// The greatest keys that references lead to, by table; found once in a transaction.
    private var referencedKeys: [Int: Int64] = [:]

    // MARK: Walking

    /// Passes every candidate of a plan to `body` until it returns false.
    ///
    /// The candidates are fixed before the first of them is passed on, so that changes made in `body` cannot move records into the path.
    @discardableResult
    public override func walk(_ plan: MappedPlan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int {
        var (identifiers, passed): ([UUID], Int) = ([], 0)
        try forEachCandidate(plan) { id, _, part in
            if part?.entity == plan.entity { identifiers.append(id) } else { passed += 1 }
            return true
        }
        for id in identifiers {
            guard let record = try record(entity: plan.entity, id: id) else { continue }
            guard try lend(record, plan.entity, body) else { break }
        }
        return passed
    }

    // MARK: Records

    /// Stores a record under an identifier that is not in use.
    public func insert(entity: Int, id: UUID, record: RecordView) throws -> Bool {
        try takeConsequences()
        let (table, part) = place(entity)
        if let known = try rows.key(id, table), try rows.row(known, table) != nil { return false }
        var row = newRow(entity, id)
        for position in part.fields.indices { try set(&row, position, try record.value(at: position)) }
        try row.fulfilConditions()
        // A record that refers to itself has been promised a key by now.
        let known = try rows.key(id, table)
        let key = try newKey(of: table, row, known, id)
        try row.setKey(key)
        let names = row.places.map { SQLiteFormat.quoted(table.source.columns[$0]) }.joined(separator: ", ")
        let marks = row.places.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        try run(row, "INSERT INTO \(table.quotedName) (\(names)) VALUES (\(marks))", row.ordered)
        let stored = table.stored(key)
        if known == nil {
            try keep(id, stored, table)
        } else if let known, known != stored {
            try moveReserved(id, table, from: known, to: stored)
        }
        try settle(RowKey(table.number, stored), width: stored.count)
        for (position, field) in part.fields.enumerated() {
            guard case .links(let links) = field else { continue }
            // Links that the app left of a row that is gone must not become those of this one.
            let left = try leftLinks(links, stored)
            try setLinks(links, owner: stored, row, to: try record.value(at: position).identifiers, from: left)
        }
        try verify(row, stored, record)
        return true
    }

    /// Replaces a record; `old` is the stored one. Only columns whose value changes are written.
    public func update(entity: Int, id: UUID, record: RecordView, replacing old: RecordView) throws {
        try takeConsequences()
        let (table, part) = place(entity)
        guard let key = try rows.key(id, table) else { throw missing(entity, id) }
        var row = newRow(entity, id)
        var links: [(table: TablePlan.LinkTable, new: [UUID], old: [UUID])] = []
        for (position, field) in part.fields.enumerated() {
            let (value, before) = (try record.value(at: position), try old.value(at: position))
            guard value != before else { continue }
            if case .links(let table) = field {
                links.append((table, value.identifiers, before.identifiers))
            } else {
                try set(&row, position, value)
            }
        }
        if !row.places.isEmpty {
            guard Set(row.places).isDisjoint(with: table.source.key) else {
                throw row.refusal(
                    .unsupported,
                    "the key of a row cannot be changed; delete the record and insert another one"
                )
            }
            let assignments = row.places.enumerated().map {
                "\(SQLiteFormat.quoted(table.source.columns[$1])) = ?\($0 + 1)"
            }
            let condition = table.keyCondition(row.places.count + 1)
            try run(
                row,
                "UPDATE \(table.quotedName) SET \(assignments.joined(separator: ", ")) WHERE \(condition)",
                row.ordered + key
            )
            guard try connection.changes == 1 else { throw missing(entity, id) }
            try settle(RowKey(table.number, key), width: key.count)
        }
        for (table, new, old) in links { try setLinks(table, owner: key, row, to: new, from: old) }
        try verify(row, key, record)
    }

    /// Removes a record; `old` is the stored one. Its identifier remains known as that of a dead record.
    public func delete(entity: Int, id: UUID, record old: RecordView) throws {
        try takeConsequences()
        let (table, part) = place(entity)
        guard let key = try rows.key(id, table) else { throw missing(entity, id) }
        let row = newRow(entity, id)
        for (position, field) in part.fields.enumerated() {
            guard case .links(let links) = field else { continue }
            try setLinks(links, owner: key, row, to: [], from: try old.value(at: position).identifiers)
        }
        try run(row, "DELETE FROM \(table.quotedName) WHERE \(table.keyCondition(1))", key)
        guard try rows.row(key, table) == nil else {
            throw row.refusal(.invalidValue, "a trigger of the app's keeps the row from being deleted")
        }
        try settle(RowKey(table.number, key), width: key.count)
    }

    private func newRow(_ entity: Int, _ id: UUID) -> MappedRow {
        let (table, part) = place(entity)
        return MappedRow(table, part, layout.schema.entities[entity], id, path: path)
    }

    /// Reads a row again whose columns may change a written value. Changes by the app's triggers count as the app's.
    private func verify(_ row: MappedRow, _ key: [SourceValue], _ record: RecordView) throws {
        guard row.isDoubtful else { return }
        let meant = record.encoded()
        let found = try rows.row(key, row.table).flatMap { stored -> EncodedRecord? in
            guard try rows.part(of: stored, row.table)?.index == row.part.index else { return nil }
            return try rows.record(stored, row.id, row.table, row.part)
        }
        guard found != meant else { return }
        guard row.table.hasAppTriggers else {
            throw row.refusal(
                .invalidValue,
                "the row does not keep the record as it is: its columns or conditions change a value"
            )
        }
        foreignChanges.append(ForeignChange(entity: row.part.entity, id: row.id, old: meant, new: found))
        // A trigger may write texts that are not in NFC.
        try setMetadata(AdoptedMetadata.mixedText(row.table.name), "1")
    }

    /// Runs a statement. If the app's file refuses it, the error names the table and the constraint.
    private func run(_ row: MappedRow, _ sql: String, _ values: [SourceValue], table: String? = nil) throws {
        do {
            try connection.withStatement(sql) { statement in
                try statement.bind(values)
                try statement.run()
            }
        } catch let error as HabitStoreError
            where [.uniqueViolation, .danglingReference, .invalidValue].contains(error.code) && error.underlying != nil
        {
            throw HabitStoreError(
                error.code,
                "\(table ?? row.table.name) refuses the row: \(error.detail ?? error.message)",
                at: .init(path: error.location.path, entity: name(row.part.entity), id: row.id),
                underlying: error
            )
        }
    }

    /// Keeps the key of an identifier.
    private func keep(_ id: UUID, _ key: [SourceValue], _ table: MappedTable) throws {
        try connection.withStatement(table.insertKey) { statement in
            try statement.bind(id, at: 1)
            try statement.bind(key, from: 2)
            try statement.run()
        }
    }

    private func missing(_ entity: Int, _ id: UUID) -> HabitStoreError {
        HabitStoreError.damage(
            "a \(name(entity)) that was read a moment ago cannot be found again; run `\(OperatorCommand.name) check`",
            at: .init(path: path, entity: name(entity), id: id)
        )
    }

    // MARK: Values

    /// Puts the stored form of an attribute's value into a row.
    private func set(_ row: inout MappedRow, _ position: Int, _ value: Value) throws {
        guard case .reference(let places, let destination) = row.part.fields[position], case .uuid(let target) = value
        else { return try row.set(position, value) }
        guard let other = layout.table(destination) else { return }
        try row.setReference(position, places, try keyForReference(to: target, layout.tables[other], row))
    }

    /// The key of a record that a reference leads to. A record that is not there yet is promised a key that the app does not give out.
    private func keyForReference(to target: UUID, _ table: MappedTable, _ row: MappedRow) throws -> [SourceValue] {
        if let key = try rows.key(target, table) { return key }
        if let form = table.source.keyForm, let key = form.stored(.uuid(target)) { return [key] }
        guard table.hasNumberedKey else {
            throw row.refusal(
                .unsupported,
                "this refers to a record of \(table.name) that is not there, and whose key cannot be known; insert that first"
            )
        }
        let column = SQLiteFormat.quoted(table.keyColumns[0])
        let least =
            try connection.int64(
                "SELECT min(coalesce((SELECT min(\(column)) FROM \(table.quotedName)), 0), "
                    + "coalesce((SELECT min(k0) FROM \(table.keyTable)), 0), 0)"
            ) ?? 0
        let key = [SourceValue.int(least - 1)]
        try keep(target, key, table)
        return key
    }

    /// The key of a new row.
    private func newKey(of table: MappedTable, _ row: MappedRow, _ known: [SourceValue]?, _ id: UUID) throws
        -> [SourceValue]
    {
        if let given = row.givenKey { return given }
        if let form = table.source.keyForm {
            guard let key = form.stored(.uuid(id)) else {
                throw row.refusal(.invalidValue, "the identifier has no \(form.name)")
            }
            return [key]
        }
        guard table.hasNumberedKey else {
            throw row.refusal(
                .unsupported,
                "a new row needs the key \(table.keyColumns.joined(separator: ", ")), which no attribute supplies; insert it in the app"
            )
        }
        // A record that was deleted gets its key back; one that was promised a key gets a proper one.
        if let known, case .int(let number) = known[0], number > 0 { return known }
        let column = SQLiteFormat.quoted(table.keyColumns[0])
        var greatest =
            "coalesce((SELECT max(\(column)) FROM \(table.quotedName)), 0), coalesce((SELECT max(k0) FROM \(table.keyTable)), 0)"
        if table.keepsSequence {
            let name = "'" + table.name.replacingOccurrences(of: "'", with: "''") + "'"
            greatest += ", coalesce((SELECT seq FROM sqlite_sequence WHERE name = \(name)), 0)"
        }
        let last = max(try connection.int64("SELECT max(\(greatest), 0)") ?? 0, try greatestReferencedKey(of: table))
        guard last < .max else {
            throw row.refusal(.limitExceeded, "the greatest key is taken, so there is no next one")
        }
        return [.int(last + 1)]
    }

    /// The greatest key that a reference or link leads to. The app may have left references to rows that are gone, and they must not lead to a
    /// new record.
    private func greatestReferencedKey(of table: MappedTable) throws -> Int64 {
        if let known = referencedKeys[table.number] { return known }
        var greatest: Int64 = 0
        func look(_ other: String, _ columns: [String]) throws {
            let column = SQLiteFormat.quoted(columns[0])
            greatest = max(
                greatest,
                try connection.int64("SELECT max(\(column)) FROM \(SQLiteFormat.quoted(other))") ?? 0
            )
        }
        for other in layout.tables {
            for part in other.source.parts {
                for case .reference(let places, let destination) in part.fields
                where destination.sqlName == table.name.sqlName {
                    try look(other.name, places.map { other.source.columns[$0] })
                }
            }
        }
        for links in layout.linkTables where links.links.leadsTo.sqlName == table.name.sqlName {
            try look(links.links.table, links.links.there)
        }
        referencedKeys[table.number] = greatest
        return greatest
    }

    /// Gives a record its proper key, instead of the one reserved by references to it.
    private func moveReserved(_ id: UUID, _ table: MappedTable, from old: [SourceValue], to new: [SourceValue]) throws {
        let names = new.indices.map { "k\($0) = ?\($0 + 2)" }.joined(separator: ", ")
        try connection.withStatement("UPDATE \(table.keyTable) SET \(names) WHERE id = ?1") { statement in
            try statement.bind(id, at: 1)
            try statement.bind(new, from: 2)
            try statement.run()
        }
        func replace(_ other: String, _ columns: [String]) throws {
            let assignments = columns.enumerated().map { "\(SQLiteFormat.quoted($1)) = ?\($0 + 1)" }
            let conditions = columns.enumerated().map { "\(SQLiteFormat.quoted($1)) = ?\(columns.count + $0 + 1)" }
            let sql =
                "UPDATE \(SQLiteFormat.quoted(other)) SET \(assignments.joined(separator: ", ")) "
                + "WHERE \(conditions.joined(separator: " AND "))"
            try connection.withStatement(sql) { statement in
                try statement.bind(new + old)
                try statement.run()
            }
        }
        let before = try lastLog()
        for other in layout.tables {
            var seen: Set<[Int]> = []
            for part in other.source.parts {
                for case .reference(let places, let destination) in part.fields
                where destination.sqlName == table.name.sqlName && seen.insert(places).inserted {
                    try replace(other.name, places.map { other.source.columns[$0] })
                }
            }
        }
        for links in layout.linkTables where links.links.leadsTo.sqlName == table.name.sqlName {
            try replace(links.links.table, links.links.there)
        }
        // The references mean what they meant before.
        try connection.exec("DELETE FROM \(MappedTriggers.log) WHERE seq > \(before)")
    }

    // MARK: Links

    private func leftLinks(_ links: TablePlan.LinkTable, _ owner: [SourceValue]) throws -> [UUID] {
        guard let table = layout.linkTable(links), let other = layout.table(links.leadsTo) else { return [] }
        return try rows.linked(owner, table).compactMap { try rows.target($0, other) }
    }

    private func setLinks(
        _ links: TablePlan.LinkTable,
        owner: [SourceValue],
        _ row: MappedRow,
        to new: [UUID],
        from old: [UUID]
    ) throws {
        guard new != old, let table = layout.linkTable(links), let other = layout.table(links.leadsTo) else { return }
        let target = layout.tables[other]
        let (before, after) = (Set(old), Set(new))
        if before.count > after.intersection(before).count {
            for key in try rows.linked(owner, table) {
                guard let id = try rows.target(key, other), before.contains(id), !after.contains(id) else { continue }
                try change(row, table, owner, key, table.delete, owner + key)
            }
        }
        for id in new where !before.contains(id) {
            let key = try keyForReference(to: id, target, row)
            let own = zip(links.there, key).filter { !links.here.contains($0.0) }.map(\.1)
            try change(row, table, owner, key, table.insert, owner + own)
        }
    }

    private func change(
        _ row: MappedRow,
        _ table: MappedLinkTable,
        _ owner: [SourceValue],
        _ key: [SourceValue],
        _ sql: String,
        _ values: [SourceValue]
    ) throws {
        try run(row, sql, values, table: table.links.table)
        try settle(RowKey(table.number, owner + key), width: owner.count + key.count)
    }

    // MARK: The log

    /// Removes a statement's log entries for its own row. Those for other rows stay until the next change.
    private func settle(_ own: RowKey, width: Int) throws {
        let names = (0..<width).map { "c\($0)" }.joined(separator: ", ")
        let sql = "SELECT seq, source, \(names) FROM \(MappedTriggers.log) WHERE seq > ?1 ORDER BY seq"
        var settled: [Int64] = []
        try connection.withStatement(sql) { statement in
            try statement.bind(lastLogged, at: 1)
            while try statement.step() {
                let number = statement.int64(at: 0)
                if RowKey(Int(statement.int64(at: 1)), statement.row(2..<width + 2)) == own {
                    settled.append(number)
                } else {
                    (lastLogged, hasConsequences) = (number, true)
                }
            }
        }
        for number in settled {
            try connection.withStatement("DELETE FROM \(MappedTriggers.log) WHERE seq = ?1") { statement in
                try statement.bind(number, at: 1)
                try statement.run()
            }
        }
    }

    private func lastLog() throws -> Int64 {
        try connection.int64("SELECT coalesce(max(seq), 0) FROM \(MappedTriggers.log)") ?? 0
    }

    /// Finds out what became of the rows in the log, and empties it.
    func takeLog() throws {
        let log = ForeignWrites(try rows)
        foreignChanges += try log.take()
        for table in log.mixedTables { try setMetadata(AdoptedMetadata.mixedText(table), "1") }
        (lastLogged, hasConsequences, referencedKeys) = (0, false, [:])
    }

    /// Before a row is written again, what happened to it in between has to be known.
    private func takeConsequences() throws { if hasConsequences { try takeLog() } }

    /// Writes down what other programs, and triggers and cascades of the app's, have changed.
    ///
    /// - Returns: whether there was anything.
    @discardableResult
    func absorb(at timestamp: Date) throws -> Bool {
        try takeLog()
        guard !foreignChanges.isEmpty else { return false }
        let changes = try ForeignChanges(self, layout.schema, path: path)
        var last: [EntityKey: Bool] = [:]
        for change in foreignChanges { last[EntityKey(entity: change.entity, id: change.id)] = change.new != nil }
        for change in foreignChanges {
            let isThere = try contains(entity: change.entity, id: change.id)
            try changes.note(
                entity: change.entity,
                id: change.id,
                from: change.old,
                to: change.new,
                // This transaction's own history records later deletions and insertions.
                isTold: last[EntityKey(entity: change.entity, id: change.id)] == isThere
            )
        }
        try changes.finish(author: Self.foreignAuthor, timestamp: timestamp)
        foreignChanges = []
        return true
    }

    private struct EntityKey: Hashable {
        let entity: Int
        let id: UUID
    }

    /// Opens the tables to this transaction.
    func lowerFence() throws {
        if try metadata(AdoptedMetadata.fence) != nil { try setMetadata(AdoptedMetadata.fence, nil) }
    }

    /// Closes the tables to other programs if the records are those of the user's other store.
    func raiseFence() throws {
        guard try isInitialized, try ForeignChanges.role(self) != .authoritative else { return }
        try setMetadata(AdoptedMetadata.fence, "1")
    }

    /// The author of changes that were made past the store.
    static let foreignAuthor = "app"
}

@_spi(Engines) extension MappedWriter {
    /// Sets or removes a value of the store's own bookkeeping.
    public func setMetadata(_ key: String, _ value: String?) throws {
        let sql = value == nil ? "DELETE FROM habitstore_metadata WHERE key = ?1" : SQLiteFormat.replaceMetadata
        try connection.withStatement(sql) { statement in
            try statement.bind(key, at: 1)
            if let value { try statement.bind(value, at: 2) }
            try statement.run()
        }
    }

    /// Appends to the history. Tokens must be ascending.
    public func append(_ transaction: HistoryTransaction) throws {
        try SQLiteHistory(connection, .adopted).append(transaction)
    }

    /// Removes the history up to and including a token.
    public func pruneHistory(through token: Int64) throws {
        try SQLiteHistory(connection, .adopted).prune(through: token)
    }

    /// Stores a digest. Replaces one with the same first identifier.
    public func setDigestLeaf(entity: Int, _ leaf: DigestLeaf) throws {
        try SQLiteDigests(connection).set(leaf, of: name(entity))
    }

    /// Removes all stored digests of an entity.
    public func removeDigestLeaves(entity: Int) throws { try SQLiteDigests(connection).removeAll(of: name(entity)) }
}
