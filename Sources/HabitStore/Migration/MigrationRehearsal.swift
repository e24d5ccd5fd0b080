/// The effect that a migration would have on a store, found by migrating a copy.
public struct MigrationRehearsal: Sendable, Hashable, Codable {
    /// The records of one entity before and after, read from the files by code that does not migrate.
    public struct Entity: Sendable, Hashable, Codable {
        /// The entity's name after the migration, or before it if the migration drops the entity.
        public var name: String
        /// How many records there were; nil for a new entity.
        public var before: Int?
        /// How many there are; nil for an entity that is gone.
        public var after: Int?
        /// How many have every value that both versions have.
        public var unchanged = 0
        /// How many of the records before are not there any more.
        public var missing = 0
        /// How many were not there before.
        public var added = 0
        /// For each attribute that both versions have, how many records have another value there. Hooks may do that.
        public var changed: [String: Int] = [:]
    }

    /// The result; without copies, since the store itself was not touched.
    public let outcome: MigrationOutcome
    /// What became of the records.
    public let entities: [Entity]
    /// Findings of the check that the copy has and the store does not.
    public let findings: [StoreFinding]

    /// Whether no record is gone that its entity has not taken along, and the migrated store contradicts itself nowhere.
    public var isSound: Bool {
        entities.allSatisfy { $0.after == nil || $0.missing == 0 } && findings.allSatisfy { $0.severity == .anomaly }
    }
}
