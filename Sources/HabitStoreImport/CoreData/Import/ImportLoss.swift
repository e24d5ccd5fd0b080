import Foundation
import HabitStore

/// A value of the source that the target cannot hold, or has no place for. It goes into the attachment.
struct ImportLoss: Encodable, Hashable {
    /// The source's entity.
    let entity: String
    /// The record's key there.
    let key: Int64
    /// The record's identifier here; nil when it was not brought over at all.
    let id: UUID?
    /// The attribute or relationship there; nil for a whole record.
    let property: String?
    /// Why it is not in the target.
    let reason: String
    /// What it was.
    let value: StoredJSON
}
