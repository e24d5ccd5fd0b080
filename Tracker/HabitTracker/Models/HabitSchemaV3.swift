import HabitStore

/// The third version, the current one: tags are records of their own, and there are drafts, schedules and units.
public enum HabitSchemaV3: VersionedSchema {
    /// 3.0.0.
    public static let versionIdentifier = Schema.Version(3, 0, 0)
    /// Habits, entries, tags and drafts.
    public static let models: [any PersistentModel.Type] = [Habit.self, Entry.self, Tag.self, Draft.self]
}
