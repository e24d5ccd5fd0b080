import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite

/// What became of a record past the store's own transactions.
struct ForeignChange {
    let entity: Int
    let id: UUID
    /// The record before; nil if there was none.
    let old: EncodedRecord?
    /// The record now; nil if it is gone.
    let new: EncodedRecord?
}

/// Reads the log of changes, and finds out what became of each record: from the values that a row had when it was first logged to those that it
/// has now. Runs in a write transaction.
final class ForeignWrites {
    private let rows: MappedRows
    private var layout: MappedLayout { rows.layout }
    private var connection: SQLiteConnection { rows.connection }
    /// The rows in the log, and those that depend on them, in the order in which they were first logged.
    private var order: [RowKey] = []
    private var touched: [RowKey: Touched] = [:]
    /// The pairs in the log, by table of links and owner.
    private var pairs: [RowKey: [Pair]] = [:]
    /// Tables to which texts were written that are not in NFC.
    private(set) var mixedTables: Set<String> = []
    /// The numbers of the log's entries, with the row that each is about.
    private var entries: [(number: Int64, place: RowKey?)] = []
    /// Tables in which rows without a key were logged.
    private var keylessTables: Set<Int> = []

    private struct Touched {
        let table: Int
        let key: [SourceValue]
        /// The row before the first change; nil if there was none.
        var before: [SourceValue]?
        /// Whether the row was deleted, and no other with its key has come since.
        var isDeleted = false
        /// Whether a row with its key may have replaced it.
        var mayBeReplaced = false
        /// Whether the key was given out again after its row was deleted.
        var isReborn = false
        /// The record before the first change.
        var old: (entity: Int, id: UUID, record: EncodedRecord)?
    }

    /// An owner's link in the log.
    private struct Pair {
        let target: [SourceValue]
        let wasPresent: Bool
    }

    init(_ rows: MappedRows) { self.rows = rows }

    /// Empties the log, but for rows in which a value does not have its form: what became of them is known when the app has corrected them.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for a row without a key, and then the log stays unchanged.
    func take() throws -> [ForeignChange] {
        guard try readLog() else { return [] }
        try requireKeys()
        let unformed = Set(try order.filter { try !hasForm($0) })
        order.removeAll(where: unformed.contains)
        let again = try keysGivenOutAgain()
        for key in again {
            guard let row = touched[key] else { continue }
            let table = layout.tables[row.table]
            if let id = try rows.identifier(row.key, table) { try touchDependents(of: id, table) }
        }
        try findOldRecords()
        for key in order { try identify(key, isNew: again.contains(key)) }
        let changes = try changes()
        try emptyLog(except: unformed)
        return changes
    }

    private func hasForm(_ place: RowKey) throws -> Bool {
        guard let row = touched[place], let now = try rows.row(row.key, layout.tables[row.table]) else { return true }
        let table = layout.tables[row.table]
        do {
            if let part = try rows.part(of: now, table) { _ = try rows.values(now, UUID(), table, part) }
            return true
        } catch let error as HabitStoreError where error.code == .invalidValue {
            return false
        }
    }

    private func emptyLog(except unformed: Set<RowKey>) throws {
        guard !unformed.isEmpty else { return try connection.exec("DELETE FROM \(MappedTriggers.log)") }
        for (number, place) in entries {
            let isKept = place.map(unformed.contains) ?? false
            let sql =
                isKept
                ? "UPDATE \(MappedTriggers.log) SET kind = kind | \(LoggedKind.unformed) WHERE seq = ?1"
                : "DELETE FROM \(MappedTriggers.log) WHERE seq = ?1"
            try connection.withStatement(sql) { statement in
                try statement.bind(number, at: 1)
                try statement.run()
            }
        }
    }

    /// Gives the key of a dead record to another one. References to the dead record lead to the other one then.
    func give(_ key: [SourceValue], of table: MappedTable, to id: UUID) throws -> [ForeignChange] {
        guard let dead = try rows.identifier(key, table) else { return [] }
        try touchDependents(of: dead, table)
        try findOldRecords()
        try exchange(dead, for: id, table)
        return try changes()
    }

    private func changes() throws -> [ForeignChange] {
        var changes: [ForeignChange] = []
        for place in order { try note(place, &changes) }
        return Self.merged(changes)
    }

    /// A record that is deleted and inserted is one that changed: its row has another key, which is the same identifier.
    private static func merged(_ changes: [ForeignChange]) -> [ForeignChange] {
        struct Record: Hashable {
            let entity: Int
            let id: UUID
        }
        var merged: [ForeignChange] = []
        var places: [Record: Int] = [:]
        for change in changes {
            let record = Record(entity: change.entity, id: change.id)
            if let place = places[record] {
                merged[place] = ForeignChange(
                    entity: change.entity,
                    id: change.id,
                    old: merged[place].old ?? change.old,
                    new: change.new ?? merged[place].new
                )
            } else {
                places[record] = merged.count
                merged.append(change)
            }
        }
        return merged.filter { $0.old != $0.new }
    }

    // MARK: The log

    /// - Returns: whether there is anything.
    private func readLog() throws -> Bool {
        var isEmpty = true
        // Links come last: an owner that was written itself is what the log says of it, and others are what they are now.
        var linkEntries: [(seq: Int64, links: MappedLinkTable, kind: LoggedKind, row: [SourceValue])] = []
        let names = (0..<layout.logWidth).map { "c\($0)" }.joined(separator: ", ")
        let sql = "SELECT seq, source, kind, \(names) FROM \(MappedTriggers.log) ORDER BY seq"
        try connection.withStatement(sql) { statement in
            while try statement.step() {
                isEmpty = false
                let (seq, number) = (statement.int64(at: 0), Int(statement.int64(at: 1)))
                guard let kind = LoggedKind(rawValue: statement.int64(at: 2) & ~LoggedKind.unformed) else {
                    throw malformed()
                }
                if layout.tables.indices.contains(number) {
                    let width = layout.tables[number].source.columns.count
                    entries.append((seq, try noteRow(number, kind, statement.row(3..<width + 3))))
                } else if let links = layout.linkTables.first(where: { $0.number == number }) {
                    linkEntries.append((seq, links, kind, statement.row(3..<links.columns.count + 3)))
                } else {
                    throw malformed()
                }
            }
        }
        for entry in linkEntries { entries.append((entry.seq, try noteLink(entry.links, entry.kind, entry.row))) }
        return !isEmpty
    }

    private func malformed() -> HabitStoreError {
        HabitStoreError.damage("the log of other programs' changes is malformed", at: .init(path: connection.path))
    }

    private func noteRow(_ number: Int, _ kind: LoggedKind, _ row: [SourceValue]) throws -> RowKey? {
        let table = layout.tables[number]
        let key = table.key(row)
        guard !key.contains(.null) else {
            // The row may have a key by now, or be gone.
            keylessTables.insert(number)
            return nil
        }
        let place = table.place(key)
        if touched[place] == nil { order.append(place) }
        var known = touched[place] ?? Touched(table: number, key: key, before: kind == .absent ? nil : row)
        switch kind {
        case .present: known.mayBeReplaced = true
        case .deleted: known.isDeleted = true
        case .changed: break
        case .absent:
            if known.isDeleted {
                known.isReborn = true
            } else if !known.mayBeReplaced {
                // Earlier entries are about changes that triggers made to the new row.
                known.before = nil
            }
            (known.isDeleted, known.mayBeReplaced) = (false, false)
        }
        touched[place] = known
        return place
    }

    private func requireKeys() throws {
        for number in keylessTables {
            let table = layout.tables[number]
            let isKeyless = table.keyColumns.map { "\(SQLiteFormat.quoted($0)) IS NULL" }.joined(separator: " OR ")
            guard try connection.int64("SELECT 1 FROM \(table.quotedName) WHERE \(isKeyless) LIMIT 1") == nil else {
                throw keyless(table)
            }
        }
    }

    private func keyless(_ table: MappedTable) -> HabitStoreError {
        HabitStoreError(
            .invalidValue,
            "a row of \(table.name) has no key that can be an identifier; give it one in the app, or delete it",
            at: .init(path: connection.path)
        )
    }

    /// - Returns: the place of the owner's row.
    private func noteLink(_ links: MappedLinkTable, _ kind: LoggedKind, _ row: [SourceValue]) throws -> RowKey? {
        let here = Array(row.prefix(links.links.here.count))
        let target = Array(row.dropFirst(here.count))
        guard !here.contains(.null) else { return nil }
        var place: RowKey?
        for (number, table) in layout.tables.enumerated() where owns(table, links) {
            // The key as its own table has it: the link may spell it differently.
            let found = try rows.row(here, table).map { table.key($0) }
            let key = found ?? table.stored(here)
            let owner = table.place(key, inLinks: links)
            let isKnown = pairs[owner, default: []].contains { RowKey(0, $0.target) == RowKey(0, target) }
            if !isKnown { pairs[owner, default: []].append(Pair(target: target, wasPresent: kind != .absent)) }
            try touch(number, key)
            place = table.place(key)
        }
        return place
    }

    private func owns(_ table: MappedTable, _ links: MappedLinkTable) -> Bool {
        table.source.parts.contains { part in
            part.fields.contains { field in
                guard case .links(let own) = field else { return false }
                return layout.linkTable(own)?.number == links.number
            }
        }
    }

    /// Adds a row that was not written itself. Its columns are what they were.
    private func touch(_ number: Int, _ key: [SourceValue]) throws {
        let place = layout.tables[number].place(key)
        guard touched[place] == nil, let row = try rows.row(key, layout.tables[number]) else { return }
        order.append(place)
        touched[place] = Touched(table: number, key: key, before: row)
    }

    // MARK: Keys that are given out again

    /// The rows that are there now under a key whose record is dead, or was only promised.
    private func keysGivenOutAgain() throws -> Set<RowKey> {
        var again: Set<RowKey> = []
        for place in order {
            guard let row = touched[place] else { continue }
            let table = layout.tables[row.table]
            guard table.source.keyForm == nil, row.before == nil || row.isReborn,
                try rows.identifier(row.key, table) != nil, try rows.row(row.key, table) != nil
            else { continue }
            again.insert(place)
        }
        return again
    }

    /// References to the dead record lead to the new one now.
    private func touchDependents(of id: UUID, _ target: MappedTable) throws {
        func find(_ sql: String, _ width: Int) throws -> [[SourceValue]] {
            try connection.withStatement(sql) { statement in
                try statement.bind(id, at: 1)
                var keys: [[SourceValue]] = []
                while try statement.step() { keys.append(statement.row(0..<width)) }
                return keys
            }
        }
        func join(_ columns: [String]) -> String {
            columns.enumerated().map { "k.k\($0) = t.\(SQLiteFormat.quoted($1))" }.joined(separator: " AND ")
        }
        func list(_ columns: [String]) -> String {
            columns.map { "t.\(SQLiteFormat.quoted($0))" }.joined(separator: ", ")
        }
        for (number, table) in layout.tables.enumerated() {
            for part in table.source.parts {
                for field in part.fields {
                    switch field {
                    case .reference(let places, let destination) where destination.sqlName == target.name.sqlName:
                        let sql =
                            "SELECT \(list(table.keyColumns)) FROM \(target.keyTable) AS k JOIN \(table.quotedName) AS t "
                            + "ON \(join(places.map { table.source.columns[$0] })) WHERE k.id = ?1"
                        for key in try find(sql, table.source.key.count) { try touch(number, key) }
                    case .links(let links) where links.leadsTo.sqlName == target.name.sqlName:
                        let sql =
                            "SELECT \(list(links.here)) FROM \(target.keyTable) AS k JOIN \(SQLiteFormat.quoted(links.table)) AS t "
                            + "ON \(join(links.there)) WHERE k.id = ?1"
                        for here in try find(sql, links.here.count) {
                            if let owner = try rows.row(here, table) { try touch(number, table.key(owner)) }
                        }
                    default: continue
                    }
                }
            }
        }
    }

    // MARK: Records

    private func findOldRecords() throws {
        for place in order {
            let old = try oldRecord(place)
            touched[place]?.old = old
        }
    }

    private func oldRecord(_ place: RowKey) throws -> (entity: Int, id: UUID, record: EncodedRecord)? {
        guard let row = touched[place], let before = row.before else { return nil }
        let table = layout.tables[row.table]
        // A row without an identifier is a new one.
        guard let id = try rows.identifier(row.key, table), let part = try rows.part(of: before, table) else {
            return nil
        }
        var linked: [Int: [[SourceValue]]] = [:]
        for (position, field) in part.fields.enumerated() {
            guard case .links(let links) = field, let linkTable = layout.linkTable(links) else { continue }
            guard let changed = pairs[table.place(row.key, inLinks: linkTable)] else { continue }
            var targets = try rows.linked(row.key, linkTable)
            for pair in changed {
                targets.removeAll { RowKey(0, $0) == RowKey(0, pair.target) }
                if pair.wasPresent { targets.append(pair.target) }
            }
            linked[position] = targets
        }
        return (part.entity, id, try rows.record(before, id, table, part, linked: linked))
    }

    /// Gives a row's key an identifier.
    private func identify(_ place: RowKey, isNew: Bool) throws {
        guard let row = touched[place] else { return }
        let table = layout.tables[row.table]
        guard try rows.row(row.key, table) != nil else { return }
        let known = try rows.identifier(row.key, table)
        guard let known else {
            guard let derived = layout.plan.identifier(row.key, of: table.source) else { throw keyless(table) }
            let other = try rows.key(derived, table)
            if let other, table.source.keyForm != nil {
                guard try rows.row(other, table) != nil else { return try rows.change(derived, to: row.key, table) }
                throw HabitStoreError(
                    .invalidValue,
                    "two rows of \(table.name) have keys that are the same identifier; correct one in the app",
                    at: .init(path: connection.path, id: derived)
                )
            }
            return try rows.keep(other == nil ? derived : UUID(), row.key, table)
        }
        guard isNew else { return }
        // The record that had the key before is dead, and this is another one.
        try exchange(known, for: UUID(), table)
    }

    private func exchange(_ known: UUID, for id: UUID, _ table: MappedTable) throws {
        try connection.withStatement("UPDATE \(table.keyTable) SET id = ?1 WHERE id = ?2") { statement in
            try statement.bind(id, at: 1)
            try statement.bind(known, at: 2)
            try statement.run()
        }
    }

    private func note(_ place: RowKey, _ changes: inout [ForeignChange]) throws {
        guard let row = touched[place] else { return }
        let table = layout.tables[row.table]
        var new: (entity: Int, id: UUID, record: EncodedRecord)?
        if let now = try rows.row(row.key, table), let part = try rows.part(of: now, table),
            let id = try rows.identifier(row.key, table)
        {
            new = (part.entity, id, try rows.record(now, id, table, part))
            if now.contains(where: { if case .text(let text) = $0 { !text.isInNFC } else { false } }) {
                mixedTables.insert(table.name)
            }
        }
        if let old = row.old, let new, old.entity == new.entity, old.id == new.id {
            guard old.record != new.record else { return }
            return changes.append(ForeignChange(entity: new.entity, id: new.id, old: old.record, new: new.record))
        }
        if let old = row.old {
            changes.append(ForeignChange(entity: old.entity, id: old.id, old: old.record, new: nil))
        }
        if let new { changes.append(ForeignChange(entity: new.entity, id: new.id, old: nil, new: new.record)) }
    }
}
