import Foundation
@_spi(Engines) import HabitStore

/// The versions of the app's schema, and the migrations between them.
public enum HabitMigrationPlan: SchemaMigrationPlan {
    /// The versions, oldest first.
    public static let schemas: [any VersionedSchema.Type] = [
        HabitSchemaV1.self, HabitSchemaV2.self, HabitSchemaV3.self,
    ]

    /// Version 2 adds the category. Version 3 turns tags into records, and adds drafts and the habits' schedules, units and targets.
    public static let stages: [MigrationStage] = [
        .lightweight(fromVersion: HabitSchemaV1.self, toVersion: HabitSchemaV2.self),
        .custom(
            fromVersion: HabitSchemaV2.self,
            toVersion: HabitSchemaV3.self,
            willMigrate: nil,
            didMigrate: { before, store in try makeTags(before, store) }
        ),
    ]

    /// The namespace of tag identifiers: `uuid5(tagNamespace, "health")` in many languages. All stores of a user therefore get the same
    /// identifiers.
    public static let tagNamespace = UUID(
        uuid: (0x8B, 0x4D, 0xA6, 0x70, 0x5D, 0xDE, 0x5F, 0x9E, 0x8E, 0x05, 0xBF, 0xD1, 0xB8, 0xAB, 0xAF, 0x53)
    )

    /// The tags in a comma-separated text: trimmed, without duplicates or empty parts, in the order of their bytes.
    public static func tagNames(in text: String) -> [String] {
        let names = text.split(separator: ",").map { part in
            part.trimmingCharacters(in: .whitespacesAndNewlines).normalizedToNFC()
        }
        return Set(names).subtracting([""]).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private static func makeTags(_ before: any ReadTransaction, _ store: any WriteTransaction) throws {
        var tags: [UUID: [String]] = [:]
        var order: [UUID] = []
        try before.enumerate(FetchDescriptor<HabitSchemaV2.Habit>()) { habit in
            let names = tagNames(in: habit.tags)
            guard !names.isEmpty else { return true }
            tags[habit.id] = names
            order.append(habit.id)
            return true
        }
        let names = Set(tags.values.joined()).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for name in names { try store.insert(Tag(id: .named(name, in: tagNamespace), name: name)) }
        for id in order {
            guard var habit = try store.model(Habit.self, id: id), let names = tags[id] else { continue }
            habit.tagIDs = Set(names.map { .named($0, in: tagNamespace) })
            try store.save(habit)
        }
    }
}
