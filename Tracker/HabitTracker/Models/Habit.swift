import Foundation
import HabitStore

/// Something to be done again and again.
public struct Habit: PersistentModel {
    /// The identity.
    public var id: UUID
    /// What it is called; two habits may have the same name.
    public var name: String
    /// When it was begun.
    public var createdAt: Date
    /// The longest run of kept periods so far, as last computed.
    public var streak: Int
    /// A group of the user's own naming.
    public var category: String?
    /// Whether it is put away.
    public var isArchived: Bool
    /// How often it is to be done within ``periodDays``.
    public var timesPerPeriod: Int
    /// The length of a period in days.
    public var periodDays: Int
    /// The unit of its entries' values, for habits that are measured.
    public var unit: String?
    /// The value to reach in a period, in ``unit``.
    public var target: Double?
    /// The identifiers of its tags.
    public var tagIDs: Set<UUID>

    /// Makes a habit; daily unless said otherwise.
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

    /// Its entries, ascending by identifier. Readable inside a transaction and inside predicates.
    public var entries: [Entry] { RelationshipScope.many(\Habit.entries, of: id) }

    /// Its tags, ascending by identifier. Readable inside a transaction and inside predicates.
    public var tags: [Tag] { RelationshipScope.linked(\Habit.tags, tagIDs) }

    /// The declaration.
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

    /// Reads the attributes in their declared order.
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

    /// Writes the attributes in their declared order.
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
