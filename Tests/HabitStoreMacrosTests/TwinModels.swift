import Foundation
import HabitStoreMacros
import HabitTracker

/// Swift Testing has a type of the same name.
typealias ShippedTag = Tag

/// The schema that ships, as the macro makes it. The hand-written one is the example of the macro's result.
enum Twins: VersionedSchema {
    static let versionIdentifier = HabitSchemaV3.versionIdentifier
    static let models: [any PersistentModel.Type] = [Habit.self, Entry.self, Tag.self, Draft.self]

    @Model struct Habit {
        @Attribute(.preserveValueOnDeletion) var name: String
        @Attribute(initial: Date()) var createdAt: Date
        @Attribute(initial: 0) var streak: Int
        var category: String?
        var isArchived = false
        var timesPerPeriod = 1
        var periodDays = 1
        var unit: String?
        var target: Double?
        @ToMany(inverse: \Entry.habit, deleteRule: .cascade) var entries: [Entry]
        @ManyToMany var tags: [Tag]
        #Index<Habit>([\.name], [\.category], [\.createdAt])
    }

    @Model struct Entry {
        @Attribute(.preserveValueOnDeletion, initial: Date()) var date: Date
        var note: String?
        var value: Double?
        @Attribute(.preserveValueOnDeletion) var habitID: UUID?
        @ToOne var habit: Habit?
        #ClusteringIndex<Entry>([\.habitID, \.date])
        #Index<Entry>([\.date])
    }

    @Model struct Tag {
        @Attribute(.unique, .preserveValueOnDeletion) var name: String
        @ManyToMany(inverse: \Habit.tags) var habits: [Habit]
    }

    @Model struct Draft {
        var content: String
        @Attribute(initial: Date()) var creationDate: Date
        @Attribute(initial: [String]()) var attachments: [String]
        #Index<Draft>([\.creationDate])
    }
}
