/// What one stage did to a store, or would do.
public struct MigrationStep: Sendable, Hashable, Codable {
    /// The version that it led from.
    public let from: Schema.Version
    /// The version that it led to.
    public let to: Schema.Version
    /// Whether the stage has hooks.
    public let isCustom: Bool
    /// The changes in the declarations, one sentence each.
    public let changes: [String]
    /// What goes for good, with the number of records that had a value there when the stage began.
    public internal(set) var drops: [MigrationDrop]
    /// How many records were rewritten.
    public internal(set) var rewrittenRecords: Int
    /// How many changes of records the hooks came to.
    public internal(set) var hookChanges: Int
}
