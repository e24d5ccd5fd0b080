import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite

/// The write transaction on an adopted file: writes rows as the app would.
@_spi(Engines) public final class MappedWriter: MappedSnapshot, EngineWriter {
    /// The last number in the log of changes that is dealt with.
    private var lastLogged: Int64 = 0
    /// That when the record's first statement began.
    private var firstLogged: Int64 = 0
    /// Whether statements have changed other rows than those they were for: by triggers and cascades of the app's.
    private var hasConsequences = false
    /// What became of records past the transaction's own changes, in order.
    private(set) var foreignChanges: [ForeignChange] = []

    /// The least and greatest keys that references lead to, by table; found once in a transaction.
    private var referencedKeys: [Int: ClosedRange<Int64>] = [:]
    /// The keys of missing rows that references lead to, by table and identifier; found once in a transaction.
    private var danglingKeys: [Int: [UUID: [SourceValue]]] = [:]

    init(_ connection: SQLiteConnection, _ layout: MappedLayout) {
        super.init(connection, layout, isUnchanging: false)
    }

    // MARK: Walking

    /// Passes every candidate of a plan to `body` until it returns false.
    ///
    /// The candidates are fixed before the first of them is passed on, so that changes made in `body` cannot move records into the path.
    @discardableResult
    public override func walk(_ plan: MappedPlan, _ body: (inout AttributeReader) throws -> Bool) throws -> Int {
        try takeConsequences()
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

    public override func withRow<R>(entity: Int, id: UUID, _ body: (inout AttributeReader) throws -> R) throws -> R? {
        try takeConsequences()
        // The record is copied, because the transaction may write while it is lent.
        guard let record = try record(entity: entity, id: id) else { return nil }
        return try lend(record, entity, body)
    }

    public override func contains(entity: Int, id: UUID) throws -> Bool {
        try takeConsequences()
        return try super.contains(entity: entity, id: id)
    }

    public override func count(_ plan: MappedPlan) throws -> Int {
        try takeConsequences()
        return try super.count(plan)
    }

    public override func identifiers(entity: Int, attribute: Int, equalTo value: Value, limit: Int?) throws -> [UUID] {
        try takeConsequences()
        return try super.identifiers(entity: entity, attribute: attribute, equalTo: value, limit: limit)
    }

    // MARK: Records

    /// Stores a record under an identifier that is not in use.
    public func insert(entity: Int, id: UUID, record: RecordView) throws -> Bool {
        try takeConsequences()
        let table = place(entity).table
        if let known = try rows.key(id, table), let row = try rows.row(known, table),
            try rows.part(of: row, table) != nil
        {
            return false
        }
        try wholly { try insertRow(entity, id, record) }
        return true
    }

    private func insertRow(_ entity: Int, _ id: UUID, _ record: RecordView) throws {
        let (table, part) = place(entity)
        var row = newRow(entity, id)
        for position in part.fields.indices { try set(&row, position, try record.value(at: position)) }
        try row.fulfilConditions()
        // A record that refers to itself has been promised a key by now.
        let known = try rows.key(id, table)
        let key = try newKey(of: table, row, known, id)
        try row.setKey(key)
        let stored = table.stored(key)
        if known == nil, try rows.identifier(stored, table) != nil, try rows.row(stored, table) == nil {
            foreignChanges += try ForeignWrites(rows).give(stored, of: table, to: id)
        }
        if try rows.row(stored, table) != nil, known == stored {
            // The app has deleted the record by a value in one of its columns.
            try runUpdate(row, stored)
        } else {
            let names = row.places.map { SQLiteFormat.quoted(table.source.columns[$0]) }.joined(separator: ", ")
            let marks = row.places.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
            try run(row, "INSERT INTO \(table.quotedName) (\(names)) VALUES (\(marks))", row.ordered)
            guard try connection.changes == 1 else { throw ignored(row) }
        }
        try settle(stored, table)
        if try known == nil && rows.identifier(stored, table) == nil {
            try rows.keep(id, stored, table)
        } else if let known, known != stored {
            try moveReserved(id, table, from: known, to: stored)
        }
        for (position, field) in part.fields.enumerated() {
            guard case .links(let links) = field else { continue }
            // Links that the app left of a row that is gone must not become those of this one.
            let left = try leftLinks(links, stored)
            try setLinks(links, owner: stored, row, to: try record.value(at: position).identifiers, from: left)
        }
        try verify(row, stored, record)
    }

    /// Replaces a record; `old` is the stored one. Only columns whose value changes are written.
    public func update(entity: Int, id: UUID, record: RecordView, replacing old: RecordView) throws {
        try takeConsequences()
        try wholly { try updateRow(entity, id, record, old) }
    }

    private func updateRow(_ entity: Int, _ id: UUID, _ record: RecordView, _ old: RecordView) throws {
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
            try runUpdate(row, key)
            try settle(key, table)
        }
        for (table, new, old) in links { try setLinks(table, owner: key, row, to: new, from: old) }
        try verify(row, key, record)
    }

    private func runUpdate(_ row: MappedRow, _ key: [SourceValue]) throws {
        let table = row.table
        let assignments = row.places.enumerated().map {
            "\(SQLiteFormat.quoted(table.source.columns[$1])) = ?\($0 + 1)"
        }
        let condition = table.keyCondition(row.places.count + 1)
        try run(
            row,
            "UPDATE \(table.quotedName) SET \(assignments.joined(separator: ", ")) WHERE \(condition)",
            row.ordered + key
        )
        guard try connection.changes == 1 else {
            throw try rows.row(key, table) == nil ? missing(row.part.entity, row.id) : ignored(row)
        }
    }

    /// Removes a record; `old` is the stored one. Its identifier remains known as that of a dead record.
    public func delete(entity: Int, id: UUID, record old: RecordView) throws {
        try takeConsequences()
        try wholly { try deleteRow(entity, id, old) }
    }

    private func deleteRow(_ entity: Int, _ id: UUID, _ old: RecordView) throws {
        let (table, part) = place(entity)
        guard let key = try rows.key(id, table) else { throw missing(entity, id) }
        let row = newRow(entity, id)
        for (position, field) in part.fields.enumerated() {
            guard case .links(let links) = field else { continue }
            try setLinks(links, owner: key, row, to: [], from: try old.value(at: position).identifiers)
        }
        try run(row, "DELETE FROM \(table.quotedName) WHERE \(table.keyCondition(1))", key)
        let isDeleted = try connection.changes == 1
        let isThere = try rows.row(key, table) != nil
        guard isDeleted || !isThere else {
            throw row.refusal(.invalidValue, "a trigger of the app's keeps the row from being deleted")
        }
        // A cascade may have given the key to another row.
        try settle(key, table, keepsInsertions: isThere)
    }

    /// Runs the statements for one record. If one of them fails, none has happened.
    private func wholly(_ body: () throws -> Void) throws {
        firstLogged = lastLogged
        let known = (lastLogged, hasConsequences, foreignChanges, danglingKeys)
        try run("SAVEPOINT habitstore_record")
        do {
            try body()
            try run("RELEASE habitstore_record")
        } catch {
            // The app's table may have ended the whole transaction (ON CONFLICT ROLLBACK).
            if try connection.isInTransaction {
                try run("ROLLBACK TO habitstore_record")
                try run("RELEASE habitstore_record")
            }
            (lastLogged, hasConsequences, foreignChanges, danglingKeys) = known
            throw error
        }
    }

    private func run(_ sql: String) throws { try connection.withStatement(sql) { try $0.run() } }

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
        guard row.table.hasAppTriggers || row.table.hasGeneratedColumns else {
            throw row.refusal(
                .invalidValue,
                "the row does not keep the record as it is: its columns or conditions change a value"
            )
        }
        // What triggers on links have done to the row is part of this.
        try settle(key, row.table, after: firstLogged)
        foreignChanges.append(ForeignChange(entity: row.part.entity, id: row.id, old: meant, new: found))
        // A trigger or an expression may make texts that are not in NFC.
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

    private func ignored(_ row: MappedRow) -> HabitStoreError {
        row.refusal(.invalidValue, "the app's table ignores this change: by a trigger, or by ON CONFLICT IGNORE")
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
        if let key = try danglingKey(of: target, table) { return key }
        guard table.hasNumberedKey else {
            throw row.refusal(
                .unsupported,
                "this refers to a record of \(table.name) that is not there, and whose key cannot be known; insert that first"
            )
        }
        let column = SQLiteFormat.quoted(table.keyColumns[0])
        let known =
            try connection.int64(
                "SELECT min(coalesce((SELECT min(\(column)) FROM \(table.quotedName)), 0), "
                    + "coalesce((SELECT min(k0) FROM \(table.keyTable)), 0), 0)"
            ) ?? 0
        let least = min(known, Self.leastPromisedKey, try keysOfReferences(to: table).lowerBound)
        guard least > .min else {
            throw row.refusal(.limitExceeded, "the least key of \(table.name) is taken, so none can be promised")
        }
        let key = [SourceValue.int(least - 1)]
        try rows.keep(target, key, table)
        return key
    }

    /// Promised keys are less: far from the numbers with which apps mean "none".
    private static let leastPromisedKey = -Int64(1) << 52

    /// The key that references lead to although there is no row, if an identifier was derived from it.
    private func danglingKey(of id: UUID, _ table: MappedTable) throws -> [SourceValue]? {
        guard table.source.keyForm == nil, table.hasNumberedKey, DerivedID.isDerived(id) else { return nil }
        if let known = danglingKeys[table.number] { return known[id] }
        var found: [UUID: [SourceValue]] = [:]
        func look(_ other: String, _ column: String) throws {
            let name = SQLiteFormat.quoted(column)
            let sql =
                "SELECT DISTINCT \(name) FROM \(SQLiteFormat.quoted(other)) AS t WHERE typeof(\(name)) = 'integer' "
                + "AND NOT EXISTS (SELECT 1 FROM \(table.keyTable) WHERE k0 = t.\(name))"
            try connection.withStatement(sql) { statement in
                while try statement.step() {
                    let key = statement.row(0..<1)
                    if let id = layout.plan.identifier(key, of: table.source) { found[id] = key }
                }
            }
        }
        try forEachReference(to: table) { try look($0, $1[0]) }
        danglingKeys[table.number] = found
        return found[id]
    }

    /// Calls `body` with each table and its columns that lead to a table.
    private func forEachReference(to table: MappedTable, _ body: (String, [String]) throws -> Void) throws {
        for other in layout.tables {
            var seen: Set<[Int]> = []
            for part in other.source.parts {
                for case .reference(let places, let destination) in part.fields
                where destination.sqlName == table.name.sqlName && seen.insert(places).inserted {
                    try body(other.name, places.map { other.source.columns[$0] })
                }
            }
        }
        for links in layout.linkTables where links.links.leadsTo.sqlName == table.name.sqlName {
            try body(links.links.table, links.links.there)
        }
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
        if let key = try danglingKey(of: id, table), case .int(let number) = key[0], number > 0,
            try rows.row(key, table) == nil
        {
            return key
        }
        let column = SQLiteFormat.quoted(table.keyColumns[0])
        var greatest =
            "coalesce((SELECT max(\(column)) FROM \(table.quotedName) WHERE \(column) < ''), 0), "
            + "coalesce((SELECT max(k0) FROM \(table.keyTable) WHERE k0 < ''), 0)"
        if table.keepsSequence {
            let name = "'" + table.name.replacingOccurrences(of: "'", with: "''") + "'"
            greatest += ", coalesce((SELECT seq FROM sqlite_sequence WHERE name = \(name)), 0)"
        }
        let last = max(
            try connection.int64("SELECT max(\(greatest), 0)") ?? 0,
            try keysOfReferences(to: table).upperBound
        )
        guard last == .max else { return [.int(last + 1)] }
        // As SQLite does (https://www.sqlite.org/autoinc.html).
        for _ in 0..<Self.mostTries {
            let key = [SourceValue.int(.random(in: 1...Int64.max / 2))]
            if try rows.row(key, table) == nil, try rows.identifier(key, table) == nil, try !isReferred(key[0], table) {
                return key
            }
        }
        throw row.refusal(.limitExceeded, "the greatest key is taken, and no free one was found")
    }

    private static let mostTries = 100

    private func isReferred(_ key: SourceValue, _ table: MappedTable) throws -> Bool {
        var isReferred = false
        try forEachReference(to: table) { other, columns in
            let sql = "SELECT 1 FROM \(SQLiteFormat.quoted(other)) WHERE \(SQLiteFormat.quoted(columns[0])) = ?1"
            try connection.withStatement(sql) { statement in
                try statement.bind(key, at: 1)
                if try statement.step() { isReferred = true }
            }
        }
        return isReferred
    }

    /// From the least to the greatest key that references lead to, and 0. The app may have left references to rows that are gone, and they must
    /// not lead to a new record.
    private func keysOfReferences(to table: MappedTable) throws -> ClosedRange<Int64> {
        if let known = referencedKeys[table.number] { return known }
        var (least, greatest): (Int64, Int64) = (0, 0)
        try forEachReference(to: table) { other, columns in
            let column = SQLiteFormat.quoted(columns[0])
            // Texts come after all numbers.
            for (function, isGreatest) in [("min", false), ("max", true)] {
                let sql = "SELECT \(function)(\(column)) FROM \(SQLiteFormat.quoted(other)) WHERE \(column) < ''"
                guard let key = try connection.int64(sql) else { continue }
                if isGreatest { greatest = max(greatest, key) } else { least = min(least, key) }
            }
        }
        referencedKeys[table.number] = least...greatest
        return least...greatest
    }

    /// Gives a record its proper key, instead of the one reserved by references to it.
    private func moveReserved(_ id: UUID, _ table: MappedTable, from old: [SourceValue], to new: [SourceValue]) throws {
        try rows.change(id, to: new, table)
        try forEachReference(to: table) { other, columns in
            let before = try lastLog()
            let assignments = columns.enumerated().map { "\(SQLiteFormat.quoted($1)) = ?\($0 + 1)" }
            let conditions = columns.enumerated().map { "\(SQLiteFormat.quoted($1)) = ?\(columns.count + $0 + 1)" }
            let sql =
                "UPDATE \(SQLiteFormat.quoted(other)) SET \(assignments.joined(separator: ", ")) "
                + "WHERE \(conditions.joined(separator: " AND "))"
            try connection.withStatement(sql) { statement in
                try statement.bind(new + old)
                try statement.run()
            }
            try forget(old, new, of: other, columns, after: before)
        }
    }

    /// The references mean what they meant before: in the log, they have the new key. What else is logged, by triggers of the app's, remains.
    private func forget(
        _ old: [SourceValue],
        _ new: [SourceValue],
        of table: String,
        _ columns: [String],
        after before: Int64
    ) throws {
        guard try lastLog() > before else { return }
        let sources =
            layout.tables.filter { $0.name.sqlName == table.sqlName }.map { ($0.number, $0.source.columns) }
            + layout.linkTables.filter { $0.links.table.sqlName == table.sqlName }.map { ($0.number, $0.columns) }
        for (number, names) in sources {
            for (index, column) in columns.enumerated() {
                guard let place = names.firstIndex(where: { $0.sqlName == column.sqlName }) else { continue }
                let sql =
                    "UPDATE \(MappedTriggers.log) SET c\(place) = ?1 WHERE seq > ?2 AND source = ?3 AND c\(place) = ?4"
                try connection.withStatement(sql) { statement in
                    try statement.bind(new[index], at: 1)
                    try statement.bind(before, at: 2)
                    try statement.bind(Int64(number), at: 3)
                    try statement.bind(old[index], at: 4)
                    try statement.run()
                }
            }
        }
        (lastLogged, hasConsequences) = (try lastLog(), true)
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
        guard try connection.changes > 0 else { throw ignored(row) }
        let width = owner.count + key.count
        try settle(RowKey(table.number, owner + key), width: width) { RowKey($0, $1) }
    }

    // MARK: The log

    private func settle(
        _ key: [SourceValue],
        _ table: MappedTable,
        after first: Int64? = nil,
        keepsInsertions: Bool = false
    ) throws {
        try settle(table.place(key), width: key.count, after: first, keepsInsertions) { number, key in
            number == table.number ? table.place(key) : RowKey(number, key)
        }
    }

    /// Removes a statement's log entries for its own row. Those for other rows stay until the next change.
    private func settle(
        _ own: RowKey,
        width: Int,
        after first: Int64? = nil,
        _ keepsInsertions: Bool = false,
        place: (_ number: Int, _ key: [SourceValue]) -> RowKey
    ) throws {
        let names = (0..<width).map { "c\($0)" }.joined(separator: ", ")
        let sql =
            "SELECT seq, source, kind, \(names) FROM \(MappedTriggers.log) WHERE seq > ?1 AND kind < \(LoggedKind.unformed) ORDER BY seq"
        var settled: [Int64] = []
        try connection.withStatement(sql) { statement in
            try statement.bind(first ?? lastLogged, at: 1)
            while try statement.step() {
                let number = statement.int64(at: 0)
                let isKept = keepsInsertions && statement.int64(at: 2) == LoggedKind.absent.rawValue
                if !isKept, place(Int(statement.int64(at: 1)), statement.row(3..<width + 3)) == own {
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
        (lastLogged, hasConsequences, referencedKeys, danglingKeys) = (0, false, [:], [:])
    }

    /// Before a row is written again, what happened to it in between has to be known.
    private func takeConsequences() throws {
        guard hasConsequences else { return }
        try takeLog()
        if try isFollowing { try undoConsequences() }
    }

    /// Whether the records are those of another store, with all that its triggers and cascades have done to them.
    private var isFollowing: Bool { get throws { try isInitialized && ForeignChanges.role(self) != .authoritative } }

    /// Takes back what triggers and cascades of the app's have done while another store is followed.
    private func undoConsequences() throws {
        let changes = foreignChanges
        foreignChanges = []
        guard !changes.isEmpty else { return }
        try connection.runTriggers(false)
        let outcome = Result { for change in changes.reversed() { try undo(change) } }
        try connection.runTriggers(true)
        try outcome.get()
        // Without triggers, rows do not have what those would have made of them.
        foreignChanges = []
    }

    private func undo(_ change: ForeignChange) throws {
        let layout = layout.schema.entities[change.entity].layout
        switch (change.old, change.new) {
        case (let old?, let new?):
            try old.withView(layout) { old in
                try new.withView(layout) { try updateRow(change.entity, change.id, old, $0) }
            }
        case (let old?, nil): try old.withView(layout) { try insertRow(change.entity, change.id, $0) }
        case (nil, let new?): try new.withView(layout) { try deleteRow(change.entity, change.id, $0) }
        case (nil, nil): break
        }
    }

    /// Gives the rows that came before the store's bookkeeping identifiers. No history knows of them.
    func takeUnknown() throws {
        try takeLog()
        foreignChanges = []
    }

    /// Writes down what other programs, and triggers and cascades of the app's, have changed.
    ///
    /// - Parameter isOwn: whether the changes are consequences of this transaction's own, which a store that follows another one takes back.
    /// - Returns: whether there was anything.
    @discardableResult
    func absorb(at timestamp: Date, isOwn: Bool) throws -> Bool {
        try takeLog()
        if try isOwn && isFollowing { try undoConsequences() }
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
