/// What a store says of itself to a program that does not know its schema.
public struct StoreOutline: Sendable, Hashable {
    /// The version of its schema.
    public let version: Schema.Version
    /// Its schema; nil in a store of the first versions, which have written down the version and a hash of each shape only.
    public let schema: StoredSchema?
    /// What it knows about itself beside.
    public let information: StoreInformation
    /// How often its file was migrated.
    public let migrations: Int
}

extension StoreOutline {
    /// What a store says of itself, for engines: ``EngineProvider/outline(at:)`` opens a file for reading only, with a schema
    /// that has no entities, and hands over a snapshot.
    ///
    /// - Parameter path: the file, as errors name it.
    /// - Throws: ``HabitStoreError/Code/notAStore`` when there is none yet; ``HabitStoreError/Code/corrupt`` for what no store says.
    public init(_ snapshot: some EngineSnapshot, path: String?) throws {
        guard try snapshot.metadata(MetadataKey.storeID) != nil else {
            throw HabitStoreError(.notAStore, "the file holds no store yet", at: .init(path: path))
        }
        schema = try snapshot.metadata(MetadataKey.schema).map { try StoredSchema(parsing: $0, path: path) }
        version = try StoreBookkeeping.version(snapshot, path: path)
        information = try StoreBookkeeping.information(snapshot)
        migrations = try StoreBookkeeping.standing(snapshot).migrations
    }
}
