/// A store's description of itself for a program that does not know its schema.
public struct StoreOutline: Sendable, Hashable {
    /// The version of its schema.
    public let version: Schema.Version
    /// Its schema; nil in a store of the first versions, which have written down the version and a hash of each shape only.
    public let schema: StoredSchema?
    /// Its other information about itself.
    public let information: StoreInformation
    /// How often its file was migrated.
    public let migrations: Int
}
