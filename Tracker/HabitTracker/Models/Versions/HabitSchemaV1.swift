import HabitStore

/// The first version: habits whose tags are one text, separated by commas, and their entries.
public enum HabitSchemaV1: VersionedSchema {
    /// 1.0.0.
    public static let versionIdentifier = Schema.Version(1, 0, 0)
    /// Habits and entries.
    public static let models: [any PersistentModel.Type] = [Habit.self, Entry.self]
}
