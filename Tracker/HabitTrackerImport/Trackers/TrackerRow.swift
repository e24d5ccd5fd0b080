import HabitStoreImport

/// A part of a source that does not become a record, kept next to the store under a name.
struct TrackerRow: Equatable {
    /// The kind of row, by which rows are counted: "Repetitions: skipped".
    let what: String
    let fields: [String: ImportJSON]
}
