import Foundation
import HabitStoreImport

/// A habit as a source has it.
struct TrackerHabit {
    /// What the source tells its habits apart by.
    let key: String
    /// The identifier that the source itself gives, where it is one.
    var id: UUID?
    var name: String
    var created: SourceMoment?
    var category: String?
    var tags: [String] = []
    var isArchived = false
    var timesPerPeriod = 1
    var periodDays = 1
    var unit: String?
    var target: Double?
    /// What a habit has no place for here, by the source's names.
    var rest: [String: ImportJSON] = [:]
}
