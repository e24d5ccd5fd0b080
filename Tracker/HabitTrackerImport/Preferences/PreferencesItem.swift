import HabitStoreImport

/// What a list in preferences holds at one place.
enum PreferencesItem {
    case text(String)
    /// Something else, in words; or what stands where the list should be.
    case other(String, isWhole: Bool)
}
