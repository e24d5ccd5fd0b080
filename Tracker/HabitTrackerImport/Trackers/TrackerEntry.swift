import Foundation
import HabitStoreImport

/// An entry in a source.
struct TrackerEntry {
    /// Identifies the entry among those of its habit, also when the source is read again.
    let key: String
    /// The source's identifier, if it is a UUID.
    var id: UUID?
    let habit: String
    var moment: SourceMoment
    var note: String?
    var value: Double?
    /// Fields that an entry cannot hold, by their names in the source.
    var rest: [String: ImportJSON] = [:]
}
