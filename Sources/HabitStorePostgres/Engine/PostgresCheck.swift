import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

/// Checks the contents of one snapshot.
struct PostgresCheck {
    private static let progressInterval = 1_000

    private let snapshot: PostgresSnapshot
    private let indexKeys: IndexKeys
    private var found: KeyFindings
    private let form = CanonicalForm()
    /// The entities' digests in the store's row, by the entities' numbers.
    private var totals: [Int16: RecordDigest] = [:]
    private var checked = 0

    var findings: [StoreFinding] { found.findings }

    init(_ snapshot: PostgresSnapshot) throws {
        self.snapshot = snapshot
        indexKeys = IndexKeys(snapshot.buffer)
        found = KeyFindings(
            snapshot.schema,
            textIsCanonical: try snapshot.bookkeeping()?.metadata[MetadataKey.textForm] == MetadataKey.nfc,
            path: snapshot.catalog.place
        )
    }

    mutating func run(_ progress: (Int) throws -> Void) throws {
        guard let head = try snapshot.session.begun() else { return }
        guard try checkBookkeeping(head) else { return }
        totals = try PostgresTotals.digests(head.digests, place: snapshot.catalog.place)
        try checkDigests()
        try checkNumbers()
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

    /// Compares the bookkeeping and the end of the history with the store's row.
    ///
    /// - Returns: whether the numbers of entities and indexes exist, which are needed to find rows.
    private mutating func checkBookkeeping(_ head: PostgresSession.Head) throws -> Bool {
        if head.lastToken != head.token {
            found.report(
                "historyGap",
                "the history ends at token \(head.lastToken), and the store's row says \(head.token)"
            )
        }
        // The cached bookkeeping may have changed.
        let answer = try snapshot.ask(PostgresCall(.metadata, .uuid(snapshot.catalog.store)))
        let metadata = try PostgresBookkeeping.metadata(answer)
        guard PostgresTotals.sum(of: metadata) == head.metaSum else {
            found.report(
                "bookkeepingDamaged",
                "the store's bookkeeping is not what was written: values were added, changed or removed past its transactions"
            )
            return false
        }
        return true
    }

    /// Compares the stored digests of each entity with their sum in the store's row.
    private mutating func checkDigests() throws {
        let answer = try snapshot.ask(PostgresCall(.allDigests, .uuid(snapshot.catalog.store)))
        var leaves: [Int16: [DigestLeaf]] = [:]
        for row in 0..<answer.count {
            let entity = try answer.number(row, 0, as: Int16.self)
            do {
                guard let body = answer.bytes(row, 2) else { throw DigestCoder.damaged(snapshot.catalog.place) }
                let leaf = try DigestCoder.leaf(body, first: try answer.uuid(row, 1), path: snapshot.catalog.place)
                leaves[entity, default: []].append(leaf)
            } catch let error as HabitStoreError where error.isDamage {
                found.report("digestMissing", error.message)
            }
        }
        for table in snapshot.keyTables.tables {
            let number = try snapshot.number(table.number)
            let kept = leaves.removeValue(forKey: number) ?? []
            let sum = kept.reduce(into: RecordDigest()) { $0 += $1.digest }
            guard DigestLeaf.divideAll(kept), sum == totals[number] else {
                found.report(
                    "digestMissing",
                    "the kept digests of \(table.name) are not those that were written: some are gone, or were changed past the "
                        + "store's transactions",
                    table
                )
                continue
            }
        }
        for number in leaves.keys.sorted() {
            found.report("rowsOfNothing", "there are digests of an entity \(number), which the store does not have")
        }
    }

    /// Finds records and entries under unknown numbers.
    private mutating func checkNumbers() throws {
        let store = PostgresValue.uuid(snapshot.catalog.store)
        let answers = try snapshot.ask([PostgresCall(.recordNumbers, store), PostgresCall(.indexNumbers, store)])
        let bookkeeping = try snapshot.bookkeeping()
        let entities = Set(bookkeeping?.entities.compactMap { $0 } ?? [])
        // Another program may have opened the store with other indexes.
        var listed = bookkeeping?.metadata[KeyFormat.indexesKey] ?? ""
        let names = listed.withUTF8 { KeyFormat.indexNames(UnsafeRawBufferPointer($0)) }.keys
        let indexes = Set(names.compactMap { bookkeeping?.metadata[PostgresNumbers.index($0)].flatMap { Int16($0) } })
            .union(bookkeeping?.indexNumbers.compactMap { $0 } ?? [])
        for row in 0..<answers[0].count {
            let number = try answers[0].number(row, 0, as: Int16.self)
            guard !entities.contains(number) else { continue }
            found.report("rowsOfNothing", "there are records of an entity \(number), which the store does not have")
        }
        for row in 0..<answers[1].count {
            let number = try answers[1].number(row, 0, as: Int16.self)
            guard !indexes.contains(number) else { continue }
            found.report("rowsOfNothing", "there are entries of an index \(number), which the store does not have")
        }
    }

    /// - Returns: for each index, the keys that the records should have, in order.
    private mutating func checkRecords(_ table: KeyTable, _ progress: (Int) throws -> Void) throws -> [[[UInt8]]] {
        var expected: [[[UInt8]]] = table.indexes.map { _ in [] }
        var digest = RecordDigest()
        let walk = try PostgresWalk(snapshot, .records, table.number, [.all], reverse: false)
        while let row = try walk.next() {
            checked += 1
            if checked % Self.progressInterval == 0 { try progress(checked) }
            do {
                let record = try snapshot.view(table.number, row.id, row.body)
                form.write(try table.layout.kinds.indices.map { try record.value(at: $0) })
                digest += RecordDigest(form.bytes)
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
        if let written = totals[try snapshot.number(table.number)], written != digest {
            found.report(
                "digestDeviates",
                "\(written.count) \(table.name) records were written, and those found (\(digest.count)) are not the same: the "
                    + "tables were changed past the store's transactions",
                table
            )
        }
        return expected.map { keys in
            keys.sorted { KeyOrder.isBefore($0, $1) }
                .reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        }
    }

    /// Compares an index with its expected keys in one pass.
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
                // The identifier is part of the key, and stored separately for the server.
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
