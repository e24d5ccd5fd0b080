import Foundation

/// Reading and writing a store's bookkeeping.
enum StoreBookkeeping {
    static func initialize(_ writer: some EngineWriter, schema: Schema, identity: UUID) throws {
        try writer.setMetadata(MetadataKey.storeID, identity.uuidString)
        try writer.setMetadata(MetadataKey.lineage, identity.uuidString)
        try writer.setMetadata(MetadataKey.textForm, MetadataKey.nfc)
        try describe(writer, schema)
    }

    // MARK: The schema

    /// Writes down what the store's records are.
    static func describe(_ writer: some EngineWriter, _ schema: Schema) throws {
        try writer.setMetadata(MetadataKey.schemaVersion, schema.version.description)
        try writer.setMetadata(MetadataKey.schema, schema.storedText)
        for (position, entity) in schema.entities.enumerated() {
            try writer.setMetadata(MetadataKey.hashPrefix + entity.name, schema.shapeHash(ofEntity: position))
        }
    }

    /// Writes down what the store's records are from now on.
    static func redescribe(_ writer: some EngineWriter, from old: Schema, to new: Schema) throws {
        for entity in old.entities { try writer.setMetadata(MetadataKey.hashPrefix + entity.name, nil) }
        try describe(writer, new)
        var stamp = try stamp(writer)
        stamp.migrations += 1
        try writer.setMetadata(MetadataKey.role, stamp.text)
    }

    /// Throws for another schema than the store's.
    ///
    /// - Returns: whether the store has exactly this schema on record; otherwise the difference does not affect the form of
    ///   records.
    /// - Throws: ``HabitStoreError/Code/newerVersion``, ``HabitStoreError/Code/migrationRequired``,
    ///   ``HabitStoreError/Code/schemaMismatch``.
    @discardableResult
    static func requireSchema(_ snapshot: some EngineSnapshot, _ schema: Schema, path: String?) throws -> Bool {
        guard try snapshot.metadata(MetadataKey.storeID) != nil else {
            throw HabitStoreError(.notAStore, "the file holds no store yet", at: .init(path: path))
        }
        guard let text = try snapshot.metadata(MetadataKey.schema) else {
            try requireHashes(snapshot, schema, path: path)
            return false
        }
        if text == schema.storedText { return true }
        try requireVersion(try StoredSchema.version(in: text, path: path), schema, path)
        let differences = try StoredSchema(parsing: text, path: path).differences(from: schema.stored)
        guard differences.isEmpty else {
            let remedy =
                "both are called version \(schema.version): what was changed takes a new version, and a stage of the migration plan that leads there"
            throw HabitStoreError.schemaMismatch(differences, path: path, remedy: remedy)
        }
        return false
    }

    private static func requireVersion(_ version: Schema.Version, _ schema: Schema, _ path: String?) throws {
        if version > schema.version {
            throw HabitStoreError(
                .newerVersion,
                "the store is of schema version \(version), and this program knows versions up to \(schema.version); "
                    + "use a newer program",
                at: .init(path: path)
            )
        }
        if version < schema.version {
            throw HabitStoreError(
                .migrationRequired,
                "the store is of schema version \(version), and this program's is \(schema.version); "
                    + "migrate it with `\(OperatorCommand.name) migrate`, or open it with a migration plan",
                at: .init(path: path)
            )
        }
    }

    /// Stores of the first versions have only written down a hash of each entity's shape.
    private static func requireHashes(_ snapshot: some EngineSnapshot, _ schema: Schema, path: String?) throws {
        try requireVersion(try version(snapshot, path: path), schema, path)
        for (position, entity) in schema.entities.enumerated() {
            let stored = try snapshot.metadata(MetadataKey.hashPrefix + entity.name)
            guard let stored else {
                throw HabitStoreError(
                    .schemaMismatch,
                    "the store has no entity \(entity.name)",
                    at: .init(path: path, entity: entity.name)
                )
            }
            guard stored == schema.shapeHash(ofEntity: position) else {
                throw HabitStoreError(
                    .schemaMismatch,
                    "the store's entity \(entity.name) has another shape than the one declared",
                    at: .init(path: path, entity: entity.name)
                )
            }
        }
    }

    /// The version of the store's schema.
    static func version(_ snapshot: some EngineSnapshot, path: String?) throws -> Schema.Version {
        guard let version = try snapshot.metadata(MetadataKey.schemaVersion).flatMap(Schema.Version.init(parsing:))
        else {
            throw HabitStoreError.damage(
                "the store does not say of which schema version it is; restore a backup",
                at: .init(path: path)
            )
        }
        return version
    }

    // MARK: The role

    static func stamp(_ snapshot: some EngineSnapshot) throws -> RoleStamp {
        guard let text = try snapshot.metadata(MetadataKey.role) else { return RoleStamp() }
        guard let stamp = RoleStamp(parsing: text) else {
            throw HabitStoreError(.newerVersion, "the store has a role that this version does not know")
        }
        return stamp
    }

    static func setRole(_ writer: some EngineWriter, _ role: StoreRole) throws {
        var stamp = try stamp(writer)
        stamp.role = role
        try writer.setMetadata(MetadataKey.role, stamp.text)
    }

    static func role(_ snapshot: some EngineSnapshot) throws -> StoreRole { try stamp(snapshot).role }

    /// The role, as a program sees it that opened the store when it had been migrated so many times.
    static func role(_ snapshot: some EngineSnapshot, migrations: Int, path: String?) throws -> StoreRole {
        let stamp = try stamp(snapshot)
        guard stamp.migrations == migrations else {
            throw HabitStoreError(
                .schemaMismatch,
                "the store was migrated to schema version \(try version(snapshot, path: path)) meanwhile; open it again",
                at: .init(path: path)
            )
        }
        return stamp.role
    }

    static func epoch(_ snapshot: some EngineSnapshot) throws -> Int {
        try number(snapshot, MetadataKey.epoch)
    }

    static func historyFloor(_ snapshot: some EngineSnapshot) throws -> HistoryToken {
        HistoryToken(rawValue: Int64(try number(snapshot, MetadataKey.historyFloor)))
    }

    /// The history after a token, refused when some of it was pruned.
    static func history(
        _ snapshot: some EngineSnapshot,
        after token: HistoryToken,
        _ body: (HistoryTransaction) throws -> Bool
    ) throws {
        let floor = try historyFloor(snapshot)
        guard token >= floor else {
            throw HabitStoreError(
                .historyExpired,
                "the history up to token \(floor) was pruned; start from a full read and token \(floor) or later"
            )
        }
        try snapshot.history(after: token.rawValue, body)
    }

    /// The last token: of the history, or of the bookkeeping when the history was pruned that far.
    static func lastToken(_ snapshot: some EngineSnapshot) throws -> HistoryToken {
        let last = try snapshot.lastToken()
        guard (0...HistoryToken.greatest.rawValue).contains(last) else {
            throw HabitStoreError.damage(
                "the history's last token is \(last), which no store comes to; restore a backup"
            )
        }
        return HistoryToken(rawValue: max(last, Int64(try number(snapshot, MetadataKey.lastToken))))
    }

    /// Forgets the history up to and including a token, but never the token itself.
    static func pruneHistory(_ writer: some EngineWriter, through token: HistoryToken) throws {
        let last = try lastToken(writer)
        let floor = min(token, last)
        guard floor > (try historyFloor(writer)) else { return }
        try writer.pruneHistory(through: floor.rawValue)
        try writer.setMetadata(MetadataKey.historyFloor, String(floor.rawValue))
        try writer.setMetadata(MetadataKey.lastToken, String(last.rawValue))
    }

    static func position(_ snapshot: some EngineSnapshot) throws -> StorePosition {
        StorePosition(
            role: try role(snapshot),
            epoch: try epoch(snapshot),
            token: try lastToken(snapshot),
            historyFloor: try historyFloor(snapshot)
        )
    }

    static func information(_ snapshot: some EngineSnapshot) throws -> StoreInformation {
        StoreInformation(
            storeID: try identifier(snapshot, MetadataKey.storeID),
            lineage: try identifier(snapshot, MetadataKey.lineage),
            token: try lastToken(snapshot),
            historyFloor: try historyFloor(snapshot),
            role: try role(snapshot),
            epoch: try epoch(snapshot)
        )
    }

    private static func number(_ snapshot: some EngineSnapshot, _ key: String) throws -> Int {
        guard let text = try snapshot.metadata(key) else { return 0 }
        guard let number = Int(text), (0...Int(HistoryToken.greatest.rawValue)).contains(number) else {
            throw HabitStoreError.damage("the store's bookkeeping has no valid number under \(key)")
        }
        return number
    }

    private static func identifier(_ snapshot: some EngineSnapshot, _ key: String) throws -> UUID {
        guard let text = try snapshot.metadata(key), let id = UUID(uuidString: text) else {
            throw HabitStoreError.damage("the store's bookkeeping has no identifier under \(key)")
        }
        return id
    }
}

@_spi(Engines) extension StoreOutline {
    /// A store's outline, for engines: ``EngineProvider/outline(at:)`` opens a file read-only with an empty schema, and passes a
    /// snapshot.
    ///
    /// - Parameter path: the file's path in errors.
    /// - Throws: ``HabitStoreError/Code/notAStore`` if there is no store yet; ``HabitStoreError/Code/corrupt`` for malformed
    ///   bookkeeping.
    public init(_ snapshot: some EngineSnapshot, path: String?) throws {
        guard try snapshot.metadata(MetadataKey.storeID) != nil else {
            throw HabitStoreError(.notAStore, "the file holds no store yet", at: .init(path: path))
        }
        schema = try snapshot.metadata(MetadataKey.schema).map { try StoredSchema(parsing: $0, path: path) }
        version = try StoreBookkeeping.version(snapshot, path: path)
        information = try StoreBookkeeping.information(snapshot)
        migrations = try StoreBookkeeping.stamp(snapshot).migrations
    }
}

/// A store's role, and the number of migrations of its file: a program that opened it before a migration learns from the number
/// that its records now have another form.
///
/// Written as `authoritative`, or `authoritative 2` after two migrations.
struct RoleStamp: Equatable {
    /// More than any store has gone through.
    private static let mostMigrations = 1_000_000_000

    var role = StoreRole.authoritative
    var migrations = 0

    init() {}

    init?(parsing text: String) {
        if let role = StoreRole(rawValue: text) {
            self.role = role
            return
        }
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, let role = StoreRole(rawValue: String(parts[0])), let migrations = Int(parts[1]),
            (1...Self.mostMigrations).contains(migrations)
        else { return nil }
        (self.role, self.migrations) = (role, migrations)
    }

    var text: String { migrations == 0 ? role.rawValue : "\(role.rawValue) \(migrations)" }
}

/// The keys of a store's own bookkeeping, as both engines keep them.
package enum MetadataKey {
    /// The store's identity, a UUID.
    static let storeID = "storeID"
    /// The identity that the stores of one user's data share, a UUID.
    static let lineage = "lineage"
    /// The schema's version, `3.0.0`.
    static let schemaVersion = "schemaVersion"
    /// The schema, as ``StoredSchema`` has it; absent in stores of older versions until they are opened for writing.
    static let schema = "schema"
    /// Before the entity's name: the hash of its declaration.
    static let hashPrefix = "shape."
    /// ``RoleStamp``; absent means authoritative and never migrated.
    static let role = "role"
    /// How often the role was handed over; absent means 0.
    static let epoch = "epoch"
    /// The last token whose history was pruned; absent means 0.
    static let historyFloor = "historyFloor"
    /// The last token, when the history does not hold it because it was pruned or never copied.
    static let lastToken = "lastToken"
    /// ``nfc`` in stores whose text was always written by a version that normalizes; absent in older ones.
    package static let textForm = "textForm"
    /// The value of ``textForm``.
    package static let nfc = "nfc"
    /// The state of an unfinished copy or import into the store, as JSON.
    static let backfill = "backfill"
    /// The rollout's state along with the role, as JSON: the stage of the store's user.
    static let rollout = "rollout"
}
