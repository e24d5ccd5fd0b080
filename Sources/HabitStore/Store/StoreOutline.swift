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
