import Foundation
import HabitStoreImport

/// What a source holds and a store has no place for: one line of the file beside the store.
struct AttachmentLine: Codable {
    /// What the line belongs to.
    enum Kind: String, Codable {
        case habit
        case entry
        case draft
        /// A row of the source that became no record.
        case row
    }

    let kind: Kind
    /// The record that has the rest of it.
    var id: UUID?
    /// The habit's name, or what the row is.
    let what: String
    /// Fields by the source's names.
    let fields: [String: ImportJSON]
}
