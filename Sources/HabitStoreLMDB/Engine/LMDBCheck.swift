import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import OrderedKeys

@_spi(Engines) extension LMDBEngine {
    /// Checks the file's structure, every record, every index against the records in both directions, and the history.
    ///
    /// Writers go on meanwhile: what is checked is one snapshot.
    public func check(_ progress: (Int) throws -> Void) throws -> [StoreFinding] {
        let structure = try structureFindings()
        let findings = structure.map(StoreFinding.init)
        // liblmdb must not be led into a damaged structure.
        if structure.contains(where: { $0.severity == .damage }) { return findings }
        return try read { snapshot in
            var check = try LMDBCheck(snapshot)
            try check.run(progress)
            return findings + check.findings
        }
    }

    private func structureFindings() throws -> [LMDBFinding] {
        // Through the registry a closed store would be found, too.
        try environment.withRead { _ in }
        var found = try LMDBFileInspector.walk(path: environment.path)
        // The open reader keeps the pages of the snapshot from being used again, so damage is damage; but a meta page
        // that is being written may be read in halves. Without writers, or seen twice, it is believed.
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
    /// What a finding in a file's structure means for its store.
    init(_ finding: LMDBFinding) {
        switch finding.severity {
        case .damage: self.init(.damage, "fileStructure", finding.description)
        case .unsupported: self.init(.anomaly, "unknownStructure", finding.description)
        case .foreign: self.init(.damage, "foreignRecord", finding.description)
        case .leak: self.init(.anomaly, "leakedPages", finding.description)
        }
    }
}

/// The checks of one snapshot's contents.
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
                // Every expected key that is there was counted: as many as there are in all means that none is extra.
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

    /// - Returns: for each index, how many of the keys that the records call for are there.
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

    /// What an entry holds beside its key: in a clustering index a copy of the record, and otherwise nothing.
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

    /// The keys that a record calls for.
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
            // A damaged record was reported already, and nothing can be said about its entries.
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
