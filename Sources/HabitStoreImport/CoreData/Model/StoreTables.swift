import Foundation
import HabitStore
import Hashing

/// The tables of a Core Data file: their declared columns and the entities' numbers.
struct StoreTables {
    struct Column {
        let name: String
        let declaredType: String
    }

    /// A row of `Z_PRIMARYKEY`.
    struct NumberedEntity {
        let number: Int
        let name: String
        /// The number of the superentity; 0 for none.
        let superentity: Int
        /// The highest key ever assigned to a record.
        let highestKey: Int64
    }

    /// The columns, by table.
    let columns: [String: [Column]]
    /// The app's entities, by number, without those of the history (16000 and up).
    let entities: [NumberedEntity]
    private let byNumber: [Int: NumberedEntity]
    /// The columns of each unique index or constraint, by table.
    let uniqueColumns: [String: [Set<String>]]
    /// The tables whose key column does not identify rows, because keys are missing, not integers, or duplicated.
    let tablesWithUnusableKeys: Set<String>

    private static let firstHistoryEntity = 16_000

    init(_ connection: SourceConnection) throws {
        var columns: [String: [Column]] = [:]
        var unique: [String: [Set<String>]] = [:]
        var unusable: Set<String> = []
        let catalog = try connection.catalog()
        for table in catalog.tables {
            let name = SourceConnection.quoted(table)
            // `table_info` omits generated columns, which SQLite reads like any other.
            let statement = try connection.prepare("PRAGMA table_xinfo(\(name))")
            var keys: [String] = []
            while try statement.step() {
                guard statement.optionalInt(6) != Self.hiddenInVirtualTable else { continue }
                if statement.optionalInt(5) != 0 { keys.append(statement.text(1) ?? "") }
                columns[table, default: []].append(
                    Column(name: statement.text(1) ?? "", declaredType: (statement.text(2) ?? "").uppercased())
                )
            }
            var isRowNumber = keys == ["Z_PK"]
            let indexes = try connection.prepare("PRAGMA index_list(\(name))")
            while try indexes.step() {
                // A primary key with its own index is not the rowid.
                if indexes.text(3) == "pk" { isRowNumber = false }
                guard indexes.optionalInt(2) == 1 else { continue }
                let index = SourceConnection.quoted(indexes.text(1) ?? "")
                let parts = try connection.prepare("PRAGMA index_info(\(index))")
                var names: Set<String> = []
                while try parts.step() { names.insert(parts.text(2) ?? "") }
                unique[table, default: []].append(names)
            }
            let isOfRecords = ["Z_PK", "Z_ENT"].allSatisfy { name in
                columns[table]?.contains { $0.name == name } == true
            }
            if isOfRecords, !isRowNumber, try Self.hasUnusableKeys(table, connection) { unusable.insert(table) }
        }
        tablesWithUnusableKeys = unusable
        self.columns = columns
        uniqueColumns = unique
        entities = columns["Z_PRIMARYKEY"] == nil ? [] : try Self.readEntities(connection)
        byNumber = Dictionary(entities.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        try requireReadable(catalog, connection.path)
    }

    /// Core Data's own tables must be readable; other tables of the app need not be.
    private func requireReadable(_ catalog: SourceCatalog, _ path: String) throws {
        var needed: Set<String> = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE", "ATRANSACTION", "ACHANGE"]
        needed.formUnion(entities.map { "Z" + $0.name.uppercased() })
        let isNeeded = { (name: String) in
            // `Z_1TAGS` holds the links of a relationship.
            needed.contains(name.uppercased()) || name.hasPrefix("Z_") && name.dropFirst(2).first?.isNumber == true
        }
        guard let table = catalog.unreadable.first(where: { isNeeded($0.name) }) else { return }
        throw HabitStoreError(
            .invalidSource,
            "the table \(table.description) cannot be read, and the records are there: it needs what only the app has",
            at: .init(path: path)
        )
    }

    private static let hiddenInVirtualTable: Int64 = 1

    private static func hasUnusableKeys(_ table: String, _ connection: SourceConnection) throws -> Bool {
        try connection.int(
            "SELECT count(*) - count(DISTINCT CASE typeof(Z_PK) WHEN 'integer' THEN Z_PK END) "
                + "FROM \(SourceConnection.quoted(table))"
        ) != 0
    }

    /// The SQL condition for the rows with a key in a table of records: of several rows with the same key, the first has it. Nil if every
    /// row has a key.
    func hasKey(in table: String) -> String? {
        guard tablesWithUnusableKeys.contains(table) else { return nil }
        return "(typeof(Z_PK) = 'integer' AND rowid IN (SELECT min(rowid) FROM \(SourceConnection.quoted(table)) "
            + "WHERE typeof(Z_PK) = 'integer' GROUP BY Z_PK))"
    }

    private static func readEntities(_ connection: SourceConnection) throws -> [NumberedEntity] {
        let statement = try connection.prepare(
            "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME IS NOT NULL ORDER BY Z_ENT"
        )
        var result: [NumberedEntity] = []
        while try statement.step() {
            guard let number = statement.optionalInt(0), number > 0, number < firstHistoryEntity else { continue }
            result.append(
                NumberedEntity(
                    number: Int(number),
                    name: statement.text(1) ?? "",
                    superentity: Int(clamping: statement.optionalInt(2) ?? 0),
                    highestKey: statement.optionalInt(3) ?? 0
                )
            )
        }
        return result
    }

    /// An entity and its ancestors up to the root.
    func ancestry(of entity: NumberedEntity) -> [NumberedEntity] {
        var result = [entity]
        var seen: Set<Int> = [entity.number]
        while let last = result.last, last.superentity != 0, let next = byNumber[last.superentity],
            seen.insert(next.number).inserted
        {
            result.append(next)
        }
        return result
    }

    /// The name of an entity's table as spelled in the file; nil if there is none.
    func table(of root: String) -> String? {
        let wanted = "Z" + root.uppercased()
        return columns[wanted] == nil ? columns.keys.first { $0.uppercased() == wanted } : wanted
    }

    func has(_ column: String, in table: String) -> Bool { columns[table]?.contains { $0.name == column } == true }
}

/// The contents of `Z_METADATA` in a Core Data file.
public struct CoreDataMetadata: Sendable, Hashable, Codable {
    /// The store's identity, which survives migrations to other versions of the model.
    public let storeID: String
    /// The version of Core Data that last wrote the file.
    public let frameworkVersion: Int?
    /// The app's names for the version of its model.
    public let modelVersions: [String]
    /// The hash of each entity, in hexadecimal.
    public let entityHashes: [String: String]
    /// The keys added by the app.
    public let appKeys: [String]

    /// The newest version of Core Data whose files have been examined.
    static let newestFramework = 1_523

    /// Reads `Z_METADATA`.
    ///
    /// - Throws: ``HabitStoreError/Code/notAStore`` if there is no such table: the file is another kind of database.
    static func read(
        _ connection: SourceConnection,
        _ tables: StoreTables
    ) throws -> (CoreDataMetadata, [CoreDataOddity]) {
        guard tables.columns["Z_METADATA"] != nil, tables.columns["Z_PRIMARYKEY"] != nil else {
            let missing = tables.columns["Z_METADATA"] == nil ? "Z_METADATA" : "Z_PRIMARYKEY"
            throw HabitStoreError(
                .notAStore,
                "this SQLite database is not a Core Data file: it has no table \(missing)",
                at: .init(path: connection.path)
            )
        }
        var rows: [(id: String, list: Data)] = []
        let statement = try connection.prepare("SELECT Z_UUID, Z_PLIST FROM Z_METADATA ORDER BY Z_VERSION")
        while try statement.step() { rows.append((statement.text(0) ?? "", statement.blob(1))) }
        guard let first = rows.first else {
            throw HabitStoreError(
                .notAStore,
                "the Core Data file has no metadata: Z_METADATA is empty",
                at: .init(path: connection.path)
            )
        }
        var oddities: [CoreDataOddity] = []
        if rows.count > 1 {
            oddities.note(
                "metadataRows",
                "Z_METADATA has \(rows.count) rows, where one is usual: the first is believed",
                count: rows.count
            )
        }
        let list = (try? PropertyListSerialization.propertyList(from: first.list, format: nil)) as? [String: Any]
        let metadata = CoreDataMetadata(storeID: first.id, list: list ?? [:])
        return (metadata, oddities + metadata.oddities(list))
    }

    private init(storeID: String, list: [String: Any]) {
        self.storeID = storeID
        frameworkVersion = (list["NSPersistenceFrameworkVersion"] as? NSNumber)?.intValue
        let versions = list["NSStoreModelVersionIdentifiers"] as? [Any] ?? []
        modelVersions = versions.map { "\($0)" }.filter { !$0.isEmpty }
        let hashes = list["NSStoreModelVersionHashes"] as? [String: Any] ?? [:]
        entityHashes = hashes.compactMapValues { $0 as? Data }.mapValues { bytes in
            bytes.hexadecimal
        }
        appKeys = list.keys.filter { !$0.hasPrefix("NS") && !$0.hasPrefix("_NS") }.sorted()
    }

    private func oddities(_ list: [String: Any]?) -> [CoreDataOddity] {
        var result: [CoreDataOddity] = []
        if list == nil {
            result.note("metadataUnreadable", "the property list in Z_METADATA cannot be read")
        }
        if UUID(uuidString: storeID) == nil {
            result.note("storeIDInvalid", "the store's identity in Z_METADATA is not a UUID")
        }
        if let version = frameworkVersion, version > Self.newestFramework {
            result.note(
                "frameworkNewer",
                "the file was written by Core Data \(version); the newest whose files are known here is \(Self.newestFramework)"
            )
        }
        if let type = list?["NSStoreType"] as? String, type != "SQLite" {
            result.note("storeType", "the metadata calls the store \(type), not SQLite")
        }
        if let version = list?["NSStoreModelVersionHashesVersion"] as? NSNumber, version.intValue != 3 {
            result.note("hashesVersion", "the hashes of the model have version \(version), where 3 is known")
        }
        return result
    }
}
