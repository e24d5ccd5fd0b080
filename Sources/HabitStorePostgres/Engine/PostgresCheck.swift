import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// The checks of one snapshot's contents.
struct PostgresCheck {
    private static let progressInterval = 1_000

    private let snapshot: PostgresSnapshot
    private let indexKeys: IndexKeys
    private var found: KeyFindings
    private var checked = 0

    var findings: [StoreFinding] { found.findings }

    init(_ snapshot: PostgresSnapshot) throws {
        self.snapshot = snapshot
        indexKeys = IndexKeys(snapshot.buffer)
        found = KeyFindings(
            snapshot.schema,
            textIsCanonical: try snapshot.metadata(MetadataKey.textForm) == MetadataKey.nfc,
            path: snapshot.catalog.place
        )
    }

    mutating func run(_ progress: (Int) throws -> Void) throws {
        for table in snapshot.keyTables.tables {
            let expected = try checkRecords(table, progress)
            for index in table.indexes {
                guard snapshot.isComplete(index) else {
                    found.reportMissing(index, table)
                    continue
                }
                try checkKeys(index, table, expected[index.place])
            }
        }
        try checkHistory()
        try progress(checked)
    }

    /// - Returns: for each index, the keys that the records call for, in order.
    private mutating func checkRecords(_ table: KeyTable, _ progress: (Int) throws -> Void) throws -> [[[UInt8]]] {
        var expected: [[[UInt8]]] = table.indexes.map { _ in [] }
        let walk = try PostgresWalk(snapshot, .records, table.number, [.all], reverse: false)
        while let row = try walk.next() {
            checked += 1
            if checked % Self.progressInterval == 0 { try progress(checked) }
            do {
                let record = try snapshot.view(table.number, row.id, row.body)
                try found.checkForm(record, table, row.id)
                try withUnsafeBytes(of: row.id.uuid) { id in
                    for index in table.indexes {
                        try indexKeys.forEach(index, record, id) { expected[index.place].append(Array($0)) }
                    }
                }
            } catch let error as HabitStoreError where error.isDamage {
                found.report("recordDamaged", "\(table.name): \(error.message)", table, row.id)
            }
        }
        return expected.map { keys in
            keys.sorted { KeyOrder.isBefore($0, $1) }
                .reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        }
    }

    /// Goes through an index and through what it should hold side by side.
    private mutating func checkKeys(_ index: KeyIndex, _ table: KeyTable, _ expected: [[UInt8]]) throws {
        let walk = try PostgresWalk(snapshot, .keys, table.number, [.all], index: index, reverse: false)
        var rest = expected[...]
        while let row = try walk.next() {
            let key = Array(row.key)
            while let next = rest.first, KeyOrder.isBefore(next, key) {
                reportLacking(next, index, table)
                rest.removeFirst()
            }
            if rest.first == key {
                rest.removeFirst()
                // The identifier stands in the key, and beside it for the server's sake.
                if UUID(keyEnd: row.key) == row.id { continue }
                found.report(
                    "indexEntryDamaged",
                    "\(index.title) has an entry that names another record than its key",
                    table,
                    row.id
                )
            } else {
                found.report(
                    "indexEntryExtra",
                    "\(index.title) has an entry that no record calls for",
                    table,
                    UUID(keyEnd: row.key)
                )
            }
        }
        for key in rest { reportLacking(key, index, table) }
    }

    private mutating func reportLacking(_ key: [UInt8], _ index: KeyIndex, _ table: KeyTable) {
        let id = key.withUnsafeBytes { UUID(keyEnd: $0) }
        found.report("indexEntryMissing", "\(index.title) lacks an entry for a record", table, id)
    }

    private mutating func checkHistory() throws {
        try snapshot.forEachHistoryRecord(after: 0) { key, value in
            found.checkHistory(key, value)
            return true
        }
        found.finishHistory()
    }
}
