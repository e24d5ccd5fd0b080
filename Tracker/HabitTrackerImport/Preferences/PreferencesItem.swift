import HabitStoreImport

/// A member of a list in preferences.
enum PreferencesItem {
    case text(String)
    /// A description of another kind of value, which is a member or replaces the whole list.
    case other(String, isWhole: Bool)
}
