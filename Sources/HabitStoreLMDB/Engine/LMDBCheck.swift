import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

@_spi(Engines) extension LMDBEngine {
    /// Checks the file's structure, every record, every index against the records in both directions, and the history.
    ///
    /// The check reads one snapshot; writers may continue meanwhile.
    public func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] {
        let structure = try structureFindings()
        let findings = structure.map(StoreFinding.init)
        // liblmdb must not read a damaged structure.
        if structure.contains(where: { $0.severity == .damage }) { return findings }
        return try read { snapshot in
            var check = try LMDBCheck(snapshot)
            try check.run(progress)
            return findings + check.findings
        }
    }

    private func structureFindings() throws -> [LMDBFinding] {
        // The registry would also find a closed store.
        try environment.withRead { _ in }
        var found = try LMDBFileInspector.walk(path: environment.path)
        // The open reader keeps the snapshot's pages from being reused, so damage in them is real. But a meta page may be read
        // while it is being written, so a finding counts only without writers, or if it is found twice.
        if found.contains(where: { $0.severity == .damage }) {
            found =
                environment.isReadOnly
                ? try LMDBFileInspector.walk(path: environment.path)
                : try environment.withWrite { _ in try LMDBFileInspector.walk(path: environment.path) }
        }
        return found
    }
}

extension StoreFinding {
    /// Translates a finding about the file's structure to one about the store.
    init(_ finding: LMDBFinding) {
        switch finding.severity {
        case .damage: self.init(.damage, "fileStructure", finding.description)
        case .unsupported: self.init(.anomaly, "unknownStructure", finding.description)
        case .foreign: self.init(.damage, "foreignRecord", finding.description)
        case .leak: self.init(.anomaly, "leakedPages", finding.description)
        }
    }
}

/// Checks the contents of one snapshot.
struct LMDBCheck {
    private static let progressInterval = 1_000

    private let snapshot: LMDBSnapshot
    private let indexKeys: IndexKeys
    private var found: KeyFindings
    var findings: [StoreFinding] { found.findings }
    private var checked = 0

    init(_ snapshot: LMDBSnapshot) throws {
        self.snapshot = snapshot
        indexKeys = IndexKeys(snapshot.buffer)
        found = KeyFindings(
            snapshot.schema,
            textIsCanonical: try snapshot.textIsCanonical(),
            path: snapshot.catalog.path
        )
    }

    private var transaction: LMDBTransaction { snapshot.transaction }

    mutating func run(_ progress: (Int) throws -> Void) throws {
        for table in snapshot.catalog.tables where snapshot.catalog.hasRecords(table) {
            let expected = try checkRecords(table, progress)
            for index in table.indexes {
                guard snapshot.isComplete(index) else {
                    found.reportMissing(index, table)
                    continue
                }
                // If the index has as many keys as were expected and found, none of them is extra.
                guard try transaction.count(try snapshot.catalog.database(index)) != expected[index.place] else {
                    continue
                }
                try findExtraKeys(index, table)
            }
        }
        try checkHistory()
        try progress(checked)
    }

    private mutating func report(
        _ kind: String,
        _ message: String,
        _ table: KeyTable,
        _ key: UnsafeRawBufferPointer? = nil
    ) {
        found.report(kind, message, table, key.flatMap { UUID(key: $0) })
    }

    // MARK: Records

    /// - Returns: for each index, the number of expected keys that exist.
    private mutating func checkRecords(
        _ table: KeyTable,
        _ progress: (Int) throws -> Void
    ) throws -> [Int] {
        var present = table.indexes.map { _ in 0 }
        try transaction.forEach(try snapshot.catalog.records(table)) { record in
            checked += 1
            if checked % Self.progressInterval == 0 { try progress(checked) }
            let row: RecordView
            do {
                row = try snapshot.view(table, record.key, record.value)
                try found.checkForm(row, table, UUID(key: record.key))
            } catch let error as HabitStoreError {
                report("recordDamaged", "\(table.name): \(error.message)", table, record.key)
                return true
            }
            for index in table.indexes where snapshot.isComplete(index) {
                present[index.place] += try presentKeys(index, table, row, record.key)
            }
            return true
        }
        return present
    }

    private mutating func presentKeys(
        _ index: KeyIndex,
        _ table: KeyTable,
        _ row: RecordView,
        _ id: UnsafeRawBufferPointer
    ) throws -> Int {
        let database = try snapshot.catalog.database(index)
        var present = 0
        for key in try keys(index, row, id) {
            switch try transaction.get(database, key) {
            case nil: report("indexEntryMissing", "\(index.title) lacks an entry for a record", table, id)
            case let value?:
                present += 1
                checkCopy(index, table, row, id, value)
            }
        }
        return present
    }

    /// Checks the value of an index entry: in a clustering index a copy of the record, otherwise nothing.
    private mutating func checkCopy(
        _ index: KeyIndex,
        _ table: KeyTable,
        _ row: RecordView,
        _ id: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer
    ) {
        guard snapshot.holdsCopies(index) else {
            if !value.isEmpty { report("indexEntryDamaged", "\(index.title) has an entry with a value", table, id) }
            return
        }
        guard !value.elementsEqual(KeyFormat.copy(of: row)) else { return }
        if value.isEmpty {
            report("indexCopyMissing", "\(index.title) lacks its copy of a record", table, id)
        } else if (try? snapshot.view(table, id, value)) == nil {
            report("indexCopyDamaged", "\(index.title) has a copy of a record that is damaged", table, id)
        } else {
            report("indexCopyStale", "\(index.title) has a copy that differs from its record", table, id)
        }
    }

    /// The index keys that a record should have.
    private func keys(
        _ index: KeyIndex,
        _ row: RecordView,
        _ id: UnsafeRawBufferPointer
    ) throws -> Set<[UInt8]> {
        var keys: Set<[UInt8]> = []
        try indexKeys.forEach(index, row, id) { keys.insert(Array($0)) }
        return keys
    }

    private mutating func findExtraKeys(_ index: KeyIndex, _ table: KeyTable) throws {
        let records = try snapshot.catalog.records(table)
        try transaction.forEach(try snapshot.catalog.database(index)) { record in
            guard record.key.count > KeyFormat.identifierLength else {
                report("indexEntryExtra", "\(index.title) has an entry that is none", table)
                return true
            }
            let id = UnsafeRawBufferPointer(rebasing: record.key.suffix(KeyFormat.identifierLength))
            guard let value = try transaction.get(records, id) else {
                report("indexEntryExtra", "\(index.title) has an entry for a record that does not exist", table, id)
                return true
            }
            // A damaged record was already reported, and its entries cannot be checked.
            guard let row = try? snapshot.view(table, id, value), let keys = try? keys(index, row, id) else {
                return true
            }
            if !keys.contains(Array(record.key)) {
                report("indexEntryExtra", "\(index.title) has an entry that its record does not call for", table, id)
            }
            return true
        }
    }

    // MARK: History

    private mutating func checkHistory() throws {
        guard let database = snapshot.catalog.history else { return }
        try transaction.forEach(database) { record in
            found.checkHistory(record.key, record.value)
            return true
        }
        found.finishHistory()
    }
}
