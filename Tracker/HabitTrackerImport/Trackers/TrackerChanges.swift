import HabitStore
import HabitStoreImport
import HabitTracker

/// The changes that an import would make to a store, and what the store already has.
struct TrackerChanges {
    var newTags: [Tag] = []
    var newHabits: [Habit] = []
    var newEntries: [Entry] = []
    /// Records in the store that differ.
    var changedHabits: [Habit] = []
    var changedEntries: [Entry] = []
    /// Records in the store that are equal.
    var sameTags = 0
    var sameHabits = 0
    var sameEntries = 0
}
