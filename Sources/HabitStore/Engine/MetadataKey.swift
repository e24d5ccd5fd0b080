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
    /// ``StoreStanding``; absent means authoritative and never migrated.
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
