import Foundation
import HabitStore

/// A value of the source that the target cannot hold, or has no place for. It goes into the attachment.
struct ImportLoss: Encodable, Hashable {
    /// What a loss is, for those who may accept it.
    enum Kind: String, Sendable, Encodable, CaseIterable {
        /// The target has no place for it: by the mapping, or since its rules do not allow it.
        case noPlace
        /// What is stored is of another type than its attribute.
        case otherType
        /// Text that is no UTF-8.
        case malformedText
        /// The original of a text of which NFC, the target's form, replaces characters.
        case otherCharacters
        /// Data that was kept beside the file and is not there.
        case externalDataMissing
        /// A column, a row or a link of the file that belongs to nothing in its model.
        case unknownToModel
        /// A row of an entity that has no key, or that of another row.
        case keyUnusable
    }

    /// The source's entity.
    let entity: String
    /// The record's key there.
    let key: Int64
    /// The record's identifier here; nil when it was not brought over at all.
    let id: UUID?
    /// The attribute or relationship there; nil for a whole record.
    let property: String?
    /// The table and the column that it was read from; nil where it is not a single column's.
    var table: String?
    /// The column.
    var column: String?
    /// Why it is not in the target.
    let reason: String
    /// What it was.
    let value: StoredJSON
    /// What it counts as.
    var kind = Kind.noPlace

    private enum CodingKeys: String, CodingKey { case entity, key, id, property, table, column, reason, value }
}
