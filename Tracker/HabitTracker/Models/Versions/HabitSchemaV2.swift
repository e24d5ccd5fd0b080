import HabitStore

/// The second version: habits can have a category.
public enum HabitSchemaV2: VersionedSchema {
    /// 2.0.0.
    public static let versionIdentifier = Schema.Version(2, 0, 0)
    /// Habits and entries.
    public static let models: [any PersistentModel.Type] = [Habit.self, Entry.self]
}
