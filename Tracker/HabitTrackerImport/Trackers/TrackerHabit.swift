import Foundation
import HabitStoreImport

/// A habit in a source.
struct TrackerHabit {
    /// Identifies the habit in its source.
    let key: String
    /// The source's identifier, if it is a UUID.
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
    /// Fields that a habit cannot hold, by their names in the source.
    var rest: [String: ImportJSON] = [:]
}
