import Foundation
import HabitStore

/// A recurring activity.
public struct Habit: PersistentModel {
    /// The identifier.
    public var id: UUID
    /// The name, which need not be unique.
    public var name: String
    /// The creation date.
    public var createdAt: Date
    /// The longest streak in periods, as last computed.
    public var streak: Int
    /// A category chosen by the user.
    public var category: String?
    /// Whether the habit is archived.
    public var isArchived: Bool
    /// The number of completions to reach within ``periodDays``.
    public var timesPerPeriod: Int
    /// The length of a period in days.
    public var periodDays: Int
    /// The unit of the entries' values, for measured habits.
    public var unit: String?
    /// The amount to reach in a period, in ``unit``.
    public var target: Double?
    /// The identifiers of the tags.
    public var tagIDs: Set<UUID>

    /// Creates a habit, which is daily by default.
    public init(
        id: UUID = UUID(),
        name: String,
        createdAt: Date = Date(),
        streak: Int = 0,
        category: String? = nil,
        isArchived: Bool = false,
        timesPerPeriod: Int = 1,
        periodDays: Int = 1,
        unit: String? = nil,
        target: Double? = nil,
        tagIDs: Set<UUID> = []
    ) {
        self.id = id
        self.name = name
        self.createdAt = createdAt
        self.streak = streak
        self.category = category
        self.isArchived = isArchived
        self.timesPerPeriod = timesPerPeriod
        self.periodDays = periodDays
        self.unit = unit
        self.target = target
        self.tagIDs = tagIDs
    }

    /// The entries, ascending by identifier. Readable inside a transaction and inside predicates.
    public var entries: [Entry] { RelationshipScope.many(\Habit.entries, of: id) }

    /// The tags, ascending by identifier. Readable inside a transaction and inside predicates.
    public var tags: [Tag] { RelationshipScope.linked(\Habit.tags, tagIDs) }

    /// The entity description.
    public static let entity = EntityDescription(
        Habit.self,
        attributes: [
            .id(\Habit.id),
            .attribute("name", \Habit.name, .preserveValueOnDeletion),
            .attribute("createdAt", \Habit.createdAt),
            .attribute("streak", \Habit.streak),
            .attribute("category", \Habit.category),
            .attribute("isArchived", \Habit.isArchived, default: false),
            .attribute("timesPerPeriod", \Habit.timesPerPeriod, default: 1),
            .attribute("periodDays", \Habit.periodDays, default: 1),
            .attribute("unit", \Habit.unit),
            .attribute("target", \Habit.target),
            .attribute("tagIDs", \Habit.tagIDs),
        ],
        relationships: [
            .toMany("entries", \Habit.entries, destination: "Entry", inverse: "habit", deleteRule: .cascade),
            .manyToMany("tags", \Habit.tags, through: "tagIDs", destination: "Tag", inverse: "habits"),
        ],
        indexes: [.index(\Habit.name), .index(\Habit.category), .index(\Habit.createdAt)]
    )

    /// Decodes the attributes in their declared order.
    public init(row: inout AttributeReader) throws {
        self.init(
            id: try row.nextUUID(),
            name: try row.nextString(),
            createdAt: try row.nextDate(),
            streak: try row.nextInt(),
            category: try row.nextOptionalString(),
            isArchived: try row.nextBool(),
            timesPerPeriod: try row.nextInt(),
            periodDays: try row.nextInt(),
            unit: try row.nextOptionalString(),
            target: try row.nextOptionalDouble(),
            tagIDs: Set(try row.nextLinks())
        )
    }

    /// Encodes the attributes in their declared order.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
        try row.append(createdAt)
        row.append(streak)
        row.append(category)
        row.append(isArchived)
        row.append(timesPerPeriod)
        row.append(periodDays)
        row.append(unit)
        try row.append(target)
        row.append(tagIDs)
    }
}

/// One completion of a habit.
public struct Entry: PersistentModel {
    /// The identifier.
    public var id: UUID
    /// The time of the completion.
    public var date: Date
    /// A note.
    public var note: String?
    /// The amount in the habit's unit, for measured habits.
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

    /// The habit; nil if there is none. Readable inside a transaction and inside predicates.
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
    @inline(__always)
    public init(row: inout AttributeReader) throws {
        let (id, date) = (try row.nextUUID(), try row.nextDate())
        let (note, value) = (try row.nextOptionalString(), try row.nextOptionalDouble())
        let habitID = try row.nextOptionalUUID()
        self.id = id
        self.date = date
        self.note = note
        self.value = value
        self.habitID = habitID
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

/// A label for habits.
public struct Tag: PersistentModel {
    /// The identifier.
    public var id: UUID
    /// The name, which is unique.
    public var name: String

    /// Creates a tag.
    public init(id: UUID = UUID(), name: String) {
        self.id = id
        self.name = name
    }

    /// The habits with this tag, ascending by identifier. Readable inside a transaction and inside predicates.
    public var habits: [Habit] { RelationshipScope.many(\Tag.habits, of: id) }

    /// The entity description.
    public static let entity = EntityDescription(
        Tag.self,
        attributes: [.id(\Tag.id), .attribute("name", \Tag.name, [.unique, .preserveValueOnDeletion])],
        relationships: [.manyToMany("habits", \Tag.habits, destination: "Habit", inverse: "tags")]
    )

    /// Decodes the attributes in their declared order.
    public init(row: inout AttributeReader) throws {
        self.init(id: try row.nextUUID(), name: try row.nextString())
    }

    /// Encodes the attributes in their declared order.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
    }
}

/// An unfinished text.
public struct Draft: PersistentModel {
    /// The identifier.
    public var id: UUID
    /// The text.
    public var content: String
    /// The creation time.
    public var creationDate: Date
    /// The names of attached files, in the user's order.
    public var attachments: [String]

    /// Creates a draft.
    public init(id: UUID = UUID(), content: String, creationDate: Date = Date(), attachments: [String] = []) {
        self.id = id
        self.content = content
        self.creationDate = creationDate
        self.attachments = attachments
    }

    /// The entity description.
    public static let entity = EntityDescription(
        Draft.self,
        attributes: [
            .id(\Draft.id),
            .attribute("content", \Draft.content),
            .attribute("creationDate", \Draft.creationDate),
            .attribute("attachments", \Draft.attachments),
        ],
        indexes: [.index(\Draft.creationDate)]
    )

    /// Decodes the attributes in their declared order.
    public init(row: inout AttributeReader) throws {
        self.init(
            id: try row.nextUUID(),
            content: try row.nextString(),
            creationDate: try row.nextDate(),
            attachments: try row.nextStrings()
        )
    }

    /// Encodes the attributes in their declared order.
    public func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(content)
        try row.append(creationDate)
        row.append(attachments)
    }
}

/// The third version, the current one: tags are records of their own, and there are drafts, schedules and units.
public enum HabitSchemaV3: VersionedSchema {
    /// 3.0.0.
    public static let versionIdentifier = Schema.Version(3, 0, 0)
    /// Habits, entries, tags and drafts.
    public static let models: [any PersistentModel.Type] = [Habit.self, Entry.self, Tag.self, Draft.self]
}

/// The schema that ships: habits, their entries, tags, and drafts.
public enum HabitSchema {
    /// The current version.
    public static let current = HabitSchemaV3.schema
}
