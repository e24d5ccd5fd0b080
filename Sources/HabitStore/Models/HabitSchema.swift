/// The schema that ships: habits, their entries, tags, and drafts.
public enum HabitSchema {
    /// The current version.
    public static let current = Schema([Habit.self, Entry.self, Tag.self, Draft.self], version: [3, 0, 0])
}
