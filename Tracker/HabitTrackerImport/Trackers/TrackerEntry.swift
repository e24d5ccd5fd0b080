import Foundation
import HabitStoreImport

/// A time that a habit was kept, as a source has it.
struct TrackerEntry {
    /// What tells it apart among the entries of its habit, now and when the source is read again.
    let key: String
    /// The identifier that the source itself gives, where it is one.
    var id: UUID?
    /// The key of the habit.
    let habit: String
    var moment: SourceMoment
    var note: String?
    var value: Double?
    /// What an entry has no place for here, by the source's names.
    var rest: [String: ImportJSON] = [:]
}
