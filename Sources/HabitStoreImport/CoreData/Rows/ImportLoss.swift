import Foundation
import HabitStore

/// A source value that the target cannot hold. It goes to the attachment.
struct ImportLoss: Encodable, Hashable {
    /// The kind of a loss, for callers that may accept some of them.
    enum Kind: String, Sendable, Encodable, CaseIterable {
        /// The target has no place for it, because of the mapping or of the target's rules.
        case noPlace
        /// The stored value has another type than its attribute.
        case otherType
        /// A text that is not valid UTF-8.
        case malformedText
        /// The original of a text in which NFC, the target's form, replaces characters.
        case otherCharacters
        /// External data whose file is missing.
        case externalDataMissing
        /// A column, a row or a link that does not belong to the file's model.
        case unknownToModel
        /// A row of an entity without a key, or with the key of another row.
        case keyUnusable
    }

    /// The entity in the source.
    let entity: String
    /// The record's key in the source.
    let key: Int64
    /// The record's identifier in the target; nil if it was not imported at all.
    let id: UUID?
    /// The attribute or relationship in the source; nil for a whole record.
    let property: String?
    /// The table it was read from; nil if it is not from a single column.
    var table: String?
    var column: String?
    /// The reason why it is not in the target.
    let reason: String
    let value: StoredJSON
    var kind = Kind.noPlace

    private enum CodingKeys: String, CodingKey { case entity, key, id, property, table, column, reason, value }
}
