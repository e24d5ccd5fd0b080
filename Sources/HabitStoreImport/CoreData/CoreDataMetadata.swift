import Foundation
import HabitStore
import Hashing

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
            oddities.append(
                CoreDataOddity(
                    "metadataRows",
                    "Z_METADATA has \(rows.count) rows, where one is usual: the first is believed",
                    count: rows.count
                )
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
            result.append(CoreDataOddity("metadataUnreadable", "the property list in Z_METADATA cannot be read"))
        }
        if UUID(uuidString: storeID) == nil {
            result.append(CoreDataOddity("storeIDInvalid", "the store's identity in Z_METADATA is not a UUID"))
        }
        if let version = frameworkVersion, version > Self.newestFramework {
            result.append(
                CoreDataOddity(
                    "frameworkNewer",
                    "the file was written by Core Data \(version); the newest whose files are known here is \(Self.newestFramework)"
                )
            )
        }
        if let type = list?["NSStoreType"] as? String, type != "SQLite" {
            result.append(CoreDataOddity("storeType", "the metadata calls the store \(type), not SQLite"))
        }
        if let version = list?["NSStoreModelVersionHashesVersion"] as? NSNumber, version.intValue != 3 {
            result.append(
                CoreDataOddity("hashesVersion", "the hashes of the model have version \(version), where 3 is known")
            )
        }
        return result
    }
}
