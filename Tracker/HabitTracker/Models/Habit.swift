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
