import HabitStoreImport

/// Something that a source holds and that is nothing here: kept beside the store, under a name.
struct TrackerRow: Equatable {
    /// What it is, in words that are counted: "Repetitions: skipped".
    let what: String
    let fields: [String: ImportJSON]
}
