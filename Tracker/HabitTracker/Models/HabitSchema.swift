import HabitStore

/// The schema that ships: habits, their entries, tags, and drafts.
public enum HabitSchema {
    /// The current version.
    public static let current = HabitSchemaV3.schema
}
