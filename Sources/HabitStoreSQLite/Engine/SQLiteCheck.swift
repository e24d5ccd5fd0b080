import Foundation
@_spi(Engines) import HabitStore

/// Checks the structure of a file, not the meaning of its records.
struct SQLiteCheck {
    private let connection: SQLiteConnection
    private let tables: [SQLiteTable]
    private var checked = 0
    /// Whether the store declares all of its text to be in NFC.
    private var textIsCanonical = false
    private(set) var findings: [StoreFinding] = []

    init(_ connection: SQLiteConnection, _ tables: [SQLiteTable]) {
        self.connection = connection
        self.tables = tables
    }

    /// The findings of SQLite's own check: pages, tables, and indexes against their tables.
    static func structure(_ database: SQLiteDatabase) throws -> [StoreFinding] {
        do {
            return try database.integrityCheck(quick: false).map { line in
                StoreFinding(.damage, "integrity", "SQLite's integrity check: \(line)")
            }
        } catch let error as HabitStoreError where error.code == .corrupt {
            return [StoreFinding(.damage, "integrity", "SQLite's integrity check ended early: \(error.message)")]
        }
    }

    /// - Parameter comparesIndexes: whether to compare each index with its table. SQLite's own check has already done so; a second
    ///   comparison is only worthwhile to name the records.
    mutating func run(comparesIndexes: Bool, _ progress: (Int) throws -> Void) throws {
        try reportingDamage(nil) { try $0.readTextForm() }
        for table in tables {
            try reportingDamage(table) { check in
                try check.checkRecords(table, progress)
                for position in table.linkPositions { try check.checkLinks(table, position) }
            }
        }
        try reportingDamage(nil) { check in
            let present = try check.indexNames()
            check.checkIndexes(present)
            for table in check.tables where comparesIndexes && table.indexNames.isSubset(of: present) {
                try check.reportingDamage(table) { check in
                    var indexes = SQLiteIndexCheck(check.connection, table)
                    try indexes.run()
                    check.findings += indexes.findings
                }
            }
        }
        try reportingDamage(nil) { try $0.checkHistory() }
        try progress(checked)
    }

    private mutating func readTextForm() throws {
        textIsCanonical = try connection.withStatement(SQLiteFormat.selectMetadata) { statement in
            try statement.bind(MetadataKey.textForm, at: 1)
            return try statement.step() && statement.text(at: 0) == MetadataKey.nfc
        }
    }

    /// Reports damage that ends one part of the check as a finding, so that the other parts still run.
    private mutating func reportingDamage(_ table: SQLiteTable?, _ body: (inout SQLiteCheck) throws -> Void) throws {
        do {
            try body(&self)
        } catch let error as HabitStoreError where error.code == .corrupt {
            findings.append(StoreFinding(.damage, "unreadable", error.message, entity: table?.description.name))
        }
    }

    // MARK: Records

    /// Reads every value of every record.
    private mutating func checkRecords(_ table: SQLiteTable, _ progress: (Int) throws -> Void) throws {
        try connection.withStatement(table.selectAll) { statement in
            let row = SQLiteRow(statement, table, connection)
            while try statement.step() {
                checked += 1
                if checked % 1_000 == 0 { try progress(checked) }
                for (field, attribute) in table.description.attributes.enumerated() where attribute.kind != .links {
                    do {
                        try checkValue(row, field, attribute)
                    } catch let error as HabitStoreError where error.code == .corrupt {
                        findings.append(
                            StoreFinding(
                                .damage,
                                "invalidValue",
                                error.message,
                                entity: table.description.name,
                                id: error.location.id,
                                attribute: attribute.name
                            )
                        )
                    }
                }
            }
        }
    }

    private mutating func checkValue(_ row: SQLiteRow, _ field: Int, _ attribute: AttributeDescription) throws {
        let isCanonical: Bool
        switch attribute.kind {
        case .string where !row.isNull(field): isCanonical = try row.storedText(field).isInNFC
        case .strings where !row.isNull(field): isCanonical = try row.storedTexts(field).allSatisfy(\.isInNFC)
        default:
            _ = try row.value(field)
            return
        }
        guard !isCanonical else { return }
        findings.append(
            StoreFinding(
                textIsCanonical ? .damage : .anomaly,
                "nonCanonicalText",
                "\(row.table.description.name).\(attribute.name) is not in Unicode NFC"
                    + (textIsCanonical ? ", and the store says that all of its text is" : "; it is read as if it were"),
                entity: row.table.description.name,
                id: try row.identifier(),
                attribute: attribute.name
            )
        )
    }

    // MARK: Links

    /// Finds links without an owner. Links to missing records are not damage: the source may contain them.
    private mutating func checkLinks(_ table: SQLiteTable, _ position: Int) throws {
        guard let links = table.links[position] else { return }
        let sql =
            "SELECT l.owner, o.\"id\" IS NULL FROM \(links.name) AS l "
            + "LEFT JOIN \(table.name) AS o ON o.\"id\" = l.owner "
            + "WHERE o.\"id\" IS NULL OR NOT (typeof(l.target) = 'blob' AND length(l.target) = 16)"
        try connection.withStatement(sql) { statement in
            while try statement.step() {
                let isIdentified = statement.type(at: 0) == .blob && statement.bytes(at: 0).count == 16
                let name = "\(table.description.name).\(table.description.attributes[position].name)"
                let hasOwner = statement.int64(at: 1) == 0
                findings.append(
                    StoreFinding(
                        .damage,
                        hasOwner ? "invalidValue" : "linkWithoutOwner",
                        "a link of \(name) " + (hasOwner ? "is not an identifier of 16 bytes" : "belongs to no record"),
                        entity: table.description.name,
                        id: isIdentified ? try statement.uuid(at: 0) : nil,
                        attribute: table.description.attributes[position].name
                    )
                )
            }
        }
    }

    // MARK: Indexes and history

    private func indexNames() throws -> Set<String> {
        Set(try connection.texts("SELECT name FROM sqlite_schema WHERE type = 'index'"))
    }

    /// Nothing else reports a missing index: queries still answer correctly, only slowly.
    private mutating func checkIndexes(_ present: Set<String>) {
        for table in tables {
            for name in table.indexNames.sorted() where !present.contains(name) {
                findings.append(
                    StoreFinding(
                        .anomaly,
                        "indexMissing",
                        "the index \(table.indexes[name] ?? name) is missing, so that some queries take longer",
                        entity: table.description.name
                    )
                )
            }
        }
    }

    /// Requires that the changes of each transaction are numbered from 1, and that each has exactly the columns of its kind.
    private mutating func checkChanges() throws {
        let misnumbered =
            "SELECT count(*) FROM (SELECT 1 FROM history_change GROUP BY token "
            + "HAVING min(sequence) <> 1 OR max(sequence) <> count(*))"
        let overfull =
            "SELECT count(*) FROM history_change WHERE (kind <> 'update' AND attributes IS NOT NULL) "
            + "OR (kind <> 'delete' AND tombstone IS NOT NULL)"
        for (sql, message) in [
            (misnumbered, "transactions in the history have changes that are not numbered from 1 on"),
            (overfull, "changes in the history say more than changes of their kind do"),
        ] {
            let count = try connection.int64(sql) ?? 0
            if count > 0 { findings.append(StoreFinding(.damage, "historyDamaged", "\(count) \(message)")) }
        }
    }

    private mutating func checkHistory() throws {
        let sql =
            "SELECT count(*) FROM history_change AS c "
            + "WHERE NOT EXISTS (SELECT 1 FROM history_transaction AS t WHERE t.token = c.token)"
        let orphans = try connection.int64(sql) ?? 0
        if orphans > 0 {
            findings.append(
                StoreFinding(
                    .damage,
                    "historyChangeOrphaned",
                    "\(orphans) changes in the history belong to no transaction"
                )
            )
        }
        try checkChanges()
        // Only reads each transaction: its contents were checked above.
        try SQLiteHistory(connection).walk(after: Int64.min) { _ in true }
    }
}

extension SQLiteTable {
    /// The indexes of the table and of its links, unquoted.
    fileprivate var indexNames: Set<String> {
        Set(indexes.keys).union(links.compactMap { $0?.objectNames.last })
    }
}
