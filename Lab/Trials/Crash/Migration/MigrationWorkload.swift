import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

/// Stores of the first schema version, and their expected contents at each later one.
struct MigrationWorkload {
    /// The contents of a store by its kept digests, and its token.
    struct Contents: Equatable {
        var digests: [RecordDigest]
        var token: HistoryToken
    }

    static let user = "alice"
    private static let habits = 40
    private static let entriesEach = 12

    /// Fills a store of version 1.
    static func fill(_ store: some HabitStore) throws {
        try store.write(author: "app") { transaction in
            for number in 0..<habits {
                let habit = HabitSchemaV1.Habit(
                    id: UUID.named("habit \(number)", in: HabitMigrationPlan.tagNamespace),
                    name: "habit \(number)",
                    createdAt: Date(timeIntervalSinceReferenceDate: Double(number)),
                    tags: "tag \(number % 7), tag \(number % 5),all,all"
                )
                try transaction.insert(habit)
                for day in 0..<entriesEach {
                    try transaction.insert(
                        HabitSchemaV1.Entry(
                            id: UUID.named("\(day)", in: habit.id),
                            date: Date(timeIntervalSinceReferenceDate: Double(day) * 86_400),
                            note: day % 3 == 0 ? nil : "day \(day)",
                            habitID: habit.id
                        )
                    )
                }
            }
        }
    }

    /// The current contents and version of a store.
    ///
    /// - Throws: also if the store contradicts itself.
    static func contents(_ address: StoreAddress) throws -> (version: Schema.Version, Contents) {
        let version = try address.outline().version
        guard let schema = HabitMigrationPlan.schemas.first(where: { $0.versionIdentifier == version })?.schema else {
            throw HabitStoreError(
                .corrupt,
                "the store has version \(version), which never existed",
                at: .init(path: address.path)
            )
        }
        return (version, try contents(try address.open(.readWrite, schema: schema)))
    }

    private static func contents(_ store: some UserStoreBackend) throws -> Contents {
        defer { store.close() }
        let findings = try store.check { _ in } + store.checkDigests()
        guard findings.isEmpty else {
            throw HabitStoreError(
                .corrupt,
                "the store's check found: \(findings.map(\.message))",
                at: .init(path: store.path)
            )
        }
        let digests = try store.read { transaction in
            guard let audited = transaction as? any AuditableTransaction else {
                throw HabitStoreError(.internalInconsistency, "the store keeps no digests", at: .init(path: store.path))
            }
            return try store.schema.entities.indices.map { entity in
                try (audited.keptDigests(entity: entity) ?? []).reduce(into: RecordDigest()) { $0 += $1.digest }
            }
        }
        return Contents(digests: digests, token: try store.currentToken())
    }

    /// The stores of a root, as a process of this version opens them.
    static func stores(_ root: String, schema: Schema = HabitSchema.current, flags: String?) throws -> UserStores {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.migrationPlan = HabitMigrationPlan.self
        options.logger.logLevel = .critical
        return try UserStores(root: root, flags: flags, schema: schema, options: options)
    }
}
