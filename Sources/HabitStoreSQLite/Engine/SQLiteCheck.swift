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

/// Names the records whose index entries are wrong. SQLite's own integrity check detects wrong entries, but not their
/// records.
struct SQLiteIndexCheck {
    /// More findings about one index would not help.
    private static let mostFindings = 100

    private let connection: SQLiteConnection
    private let table: SQLiteTable
    private(set) var findings: [StoreFinding] = []

    init(_ connection: SQLiteConnection, _ table: SQLiteTable) {
        self.connection = connection
        self.table = table
    }

    mutating func run() throws {
        for index in table.indexKeys {
            guard let name = index.name else { continue }
            // The identifier is the last key of every index.
            var columns = index.positions.map { table.columns[$0] }
            if !index.positions.contains(0) { columns.append(table.columns[0]) }
            let title = table.indexes.first { SQLiteFormat.quoted($0.key) == name }?.value ?? name
            try compare(table.description.name, name, columns, id: table.columns[0], title, attribute: nil)
            if index.isClustering { try compareCopies(name, title) }
        }
        for position in table.linkPositions {
            guard let links = table.links[position] else { continue }
            let attribute = table.description.attributes[position].name
            let index = SQLiteFormat.quoted(links.objectNames[1])
            let title = "\(table.description.name)(\(attribute))"
            try compare(links.objectNames[0], index, ["target", "owner"], id: "owner", title, attribute: attribute)
        }
    }

    /// Names the records whose entry exists but has other values in the columns after its keys.
    private mutating func compareCopies(_ index: String, _ title: String) throws {
        let columns = table.columnPositions.map { table.columns[$0] }.joined(separator: ", ")
        let name = table.description.name
        let named = Set(findings.compactMap(\.id))
        let sql =
            "SELECT DISTINCT \(table.columns[0]) FROM (SELECT \(columns) FROM \(table.name) INDEXED BY \(index) EXCEPT "
            + "SELECT \(columns) FROM \(table.name) INDEXED BY \(Self.primaryKey(name))) LIMIT \(Self.mostFindings)"
        try connection.withStatement(sql) { statement in
            while try statement.step() {
                guard statement.type(at: 0) == .blob, statement.bytes(at: 0).count == 16 else { continue }
                let id = try statement.uuid(at: 0)
                guard !named.contains(id) else { continue }
                findings.append(
                    StoreFinding(
                        .damage,
                        "indexCopyStale",
                        "\(title) has a copy that differs from its record",
                        entity: name,
                        id: id
                    )
                )
            }
        }
    }

    /// The name of the primary key's index, which is the table itself. `NOT INDEXED` would let SQLite read a table without row
    /// numbers from any index that has all of the columns.
    private static func primaryKey(_ table: String) -> String {
        SQLiteFormat.quoted("sqlite_autoindex_\(table)_1")
    }

    private mutating func compare(
        _ plainName: String,
        _ index: String,
        _ columns: [String],
        id: String,
        _ title: String,
        attribute: String?
    ) throws {
        let rows = "SELECT \(columns.joined(separator: ", ")) FROM \(SQLiteFormat.quoted(plainName)) INDEXED BY"
        let stored = "\(rows) \(Self.primaryKey(plainName))"
        let indexed = "\(rows) \(index)"
        for (kind, sql, message) in [
            ("indexEntryMissing", "\(stored) EXCEPT \(indexed)", "lacks an entry for a record"),
            ("indexEntryExtra", "\(indexed) EXCEPT \(stored)", "has an entry that no record calls for"),
        ] {
            let limited = "SELECT DISTINCT \(id) FROM (\(sql)) LIMIT \(Self.mostFindings)"
            try connection.withStatement(limited) { statement in
                while try statement.step() {
                    let isIdentified = statement.type(at: 0) == .blob && statement.bytes(at: 0).count == 16
                    findings.append(
                        StoreFinding(
                            .damage,
                            kind,
                            "\(title) \(message)",
                            entity: table.description.name,
                            id: isIdentified ? try statement.uuid(at: 0) : nil,
                            attribute: attribute
                        )
                    )
                }
            }
        }
    }
}
