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

/// The first version: habits whose tags are one text, separated by commas, and their entries.
public enum HabitSchemaV1: VersionedSchema {
    /// 1.0.0.
    public static let versionIdentifier = Schema.Version(1, 0, 0)
    /// Habits and entries.
    public static let models: [any PersistentModel.Type] = [Habit.self, Entry.self]
}

extension HabitSchemaV1 {
    /// A recurring activity.
    public struct Habit: PersistentModel {
        /// The identifier.
        public var id: UUID
        /// The name.
        public var name: String
        /// The creation date.
        public var createdAt: Date
        /// The longest streak in days.
        public var streak: Int
        /// The tags, separated by commas.
        public var tags: String

        /// Creates a habit.
        public init(
            id: UUID = UUID(),
            name: String,
            createdAt: Date = Date(),
            streak: Int = 0,
            tags: String = ""
        ) {
            self.id = id
            self.name = name
            self.createdAt = createdAt
            self.streak = streak
            self.tags = tags
        }

        /// The entries, ascending by identifier.
        public var entries: [Entry] { RelationshipScope.many(\Habit.entries, of: id) }

        /// The entity description.
        public static let entity = EntityDescription(
            Habit.self,
            attributes: [
                .id(\Habit.id),
                .attribute("name", \Habit.name, .preserveValueOnDeletion),
                .attribute("createdAt", \Habit.createdAt),
                .attribute("streak", \Habit.streak),
                .attribute("tags", \Habit.tags),
            ],
            relationships: [
                .toMany("entries", \Habit.entries, destination: "Entry", inverse: "habit", deleteRule: .cascade)
            ],
            indexes: [.index(\Habit.name), .index(\Habit.createdAt)]
        )

        /// Decodes the attributes in their declared order.
        public init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            name = try row.nextString()
            createdAt = try row.nextDate()
            streak = try row.nextInt()
            tags = try row.nextString()
        }

        /// Encodes the attributes in their declared order.
        public func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(name)
            try row.append(createdAt)
            row.append(streak)
            row.append(tags)
        }
    }
}

extension HabitSchemaV1 {
    /// One completion of a habit.
    public struct Entry: PersistentModel {
        /// The identifier.
        public var id: UUID
        /// The time of the completion.
        public var date: Date
        /// A note.
        public var note: String?
        /// The amount.
        public var value: Double?
        /// The identifier of the habit.
        public var habitID: UUID?

        /// Creates an entry.
        public init(id: UUID = UUID(), date: Date = Date(), note: String? = nil, value: Double? = nil, habitID: UUID?) {
            self.id = id
            self.date = date
            self.note = note
            self.value = value
            self.habitID = habitID
        }

        /// The habit; nil if there is none.
        public var habit: Habit? { RelationshipScope.one(\Entry.habit, habitID) }

        /// The entity description.
        public static let entity = EntityDescription(
            Entry.self,
            attributes: [
                .id(\Entry.id),
                .attribute("date", \Entry.date, .preserveValueOnDeletion),
                .attribute("note", \Entry.note),
                .attribute("value", \Entry.value),
                .attribute("habitID", \Entry.habitID, .preserveValueOnDeletion),
            ],
            relationships: [
                .toOne("habit", \Entry.habit, through: "habitID", destination: "Habit", inverse: "entries")
            ],
            indexes: [.index(\Entry.habitID, \Entry.date).clustering(), .index(\Entry.date)]
        )

        /// Decodes the attributes in their declared order.
        public init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            date = try row.nextDate()
            note = try row.nextOptionalString()
            value = try row.nextOptionalDouble()
            habitID = try row.nextOptionalUUID()
        }

        /// Encodes the attributes in their declared order.
        public func write(to row: inout AttributeWriter) throws {
            row.append(id)
            try row.append(date)
            row.append(note)
            try row.append(value)
            row.append(habitID)
        }
    }
}

/// The second version: habits can have a category.
public enum HabitSchemaV2: VersionedSchema {
    /// 2.0.0.
    public static let versionIdentifier = Schema.Version(2, 0, 0)
    /// Habits and entries.
    public static let models: [any PersistentModel.Type] = [Habit.self, Entry.self]
}

extension HabitSchemaV2 {
    /// A recurring activity.
    public struct Habit: PersistentModel {
        /// The identifier.
        public var id: UUID
        /// The name.
        public var name: String
        /// The creation date.
        public var createdAt: Date
        /// The longest streak in days.
        public var streak: Int
        /// A category chosen by the user.
        public var category: String?
        /// The tags, separated by commas.
        public var tags: String

        /// Creates a habit.
        public init(
            id: UUID = UUID(),
            name: String,
            createdAt: Date = Date(),
            streak: Int = 0,
            category: String? = nil,
            tags: String = ""
        ) {
            self.id = id
            self.name = name
            self.createdAt = createdAt
            self.streak = streak
            self.category = category
            self.tags = tags
        }

        /// The entries, ascending by identifier.
        public var entries: [Entry] { RelationshipScope.many(\Habit.entries, of: id) }

        /// The entity description.
        public static let entity = EntityDescription(
            Habit.self,
            attributes: [
                .id(\Habit.id),
                .attribute("name", \Habit.name, .preserveValueOnDeletion),
                .attribute("createdAt", \Habit.createdAt),
                .attribute("streak", \Habit.streak),
                .attribute("category", \Habit.category),
                .attribute("tags", \Habit.tags),
            ],
            relationships: [
                .toMany("entries", \Habit.entries, destination: "Entry", inverse: "habit", deleteRule: .cascade)
            ],
            indexes: [.index(\Habit.name), .index(\Habit.category), .index(\Habit.createdAt)]
        )

        /// Decodes the attributes in their declared order.
        public init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            name = try row.nextString()
            createdAt = try row.nextDate()
            streak = try row.nextInt()
            category = try row.nextOptionalString()
            tags = try row.nextString()
        }

        /// Encodes the attributes in their declared order.
        public func write(to row: inout AttributeWriter) throws {
            row.append(id)
            row.append(name)
            try row.append(createdAt)
            row.append(streak)
            row.append(category)
            row.append(tags)
        }
    }
}

extension HabitSchemaV2 {
    /// One completion of a habit.
    public struct Entry: PersistentModel {
        /// The identifier.
        public var id: UUID
        /// The time of the completion.
        public var date: Date
        /// A note.
        public var note: String?
        /// The amount.
        public var value: Double?
        /// The identifier of the habit.
        public var habitID: UUID?

        /// Creates an entry.
        public init(id: UUID = UUID(), date: Date = Date(), note: String? = nil, value: Double? = nil, habitID: UUID?) {
            self.id = id
            self.date = date
            self.note = note
            self.value = value
            self.habitID = habitID
        }

        /// The habit; nil if there is none.
        public var habit: Habit? { RelationshipScope.one(\Entry.habit, habitID) }

        /// The entity description.
        public static let entity = EntityDescription(
            Entry.self,
            attributes: [
                .id(\Entry.id),
                .attribute("date", \Entry.date, .preserveValueOnDeletion),
                .attribute("note", \Entry.note),
                .attribute("value", \Entry.value),
                .attribute("habitID", \Entry.habitID, .preserveValueOnDeletion),
            ],
            relationships: [
                .toOne("habit", \Entry.habit, through: "habitID", destination: "Habit", inverse: "entries")
            ],
            indexes: [.index(\Entry.habitID, \Entry.date).clustering(), .index(\Entry.date)]
        )

        /// Decodes the attributes in their declared order.
        public init(row: inout AttributeReader) throws {
            id = try row.nextUUID()
            date = try row.nextDate()
            note = try row.nextOptionalString()
            value = try row.nextOptionalDouble()
            habitID = try row.nextOptionalUUID()
        }

        /// Encodes the attributes in their declared order.
        public func write(to row: inout AttributeWriter) throws {
            row.append(id)
            try row.append(date)
            row.append(note)
            try row.append(value)
            row.append(habitID)
        }
    }
}
