import Foundation
import HabitStoreImport

/// A line of the attachment: a part of a source that a store cannot hold.
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
    /// The record that has the rest.
    var id: UUID?
    /// The habit's name, or the kind of row.
    let what: String
    /// The fields, by their names in the source.
    let fields: [String: ImportJSON]
}
