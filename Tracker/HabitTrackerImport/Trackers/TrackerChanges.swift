import HabitStore
import HabitStoreImport
import HabitTracker

/// What an import would add to a store, and what is there already.
struct TrackerChanges {
    var newTags: [Tag] = []
    var newHabits: [Habit] = []
    var newEntries: [Entry] = []
    /// What is here, and is different.
    var changedHabits: [Habit] = []
    var changedEntries: [Entry] = []
    /// What is here as it is.
    var sameTags = 0
    var sameHabits = 0
    var sameEntries = 0
}
