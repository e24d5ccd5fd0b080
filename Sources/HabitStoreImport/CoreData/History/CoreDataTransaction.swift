import Foundation

/// One save by the app, from the file's persistent history.
public struct CoreDataTransaction: Sendable, Hashable {
    /// The transaction number, ascending; there may be gaps after the app has pruned the history.
    public let number: Int64
    /// The time of the save.
    public let timestamp: Date
    /// The author set by the app.
    public let author: String?
    /// The name of the app's context.
    public let context: String?
    /// The name of the app's process.
    public let process: String?
    /// The identifier of the app's bundle.
    public let bundle: String?
}

/// A save's change to one record.
public struct CoreDataChange: Sendable, Hashable {
    /// The kind of change.
    public enum Kind: Int, Sendable, Hashable {
        /// The record was inserted.
        case insert = 0
        /// The record was updated.
        case update = 1
        /// The record was deleted.
        case delete = 2
    }

    /// The number of the change.
    public let number: Int64
    /// The kind of change.
    public let kind: Kind
    /// The number of the record's entity.
    public let entity: Int
    /// The record's key.
    public let key: Int64
    /// The values that the app preserved of a deleted record, from `ZTOMBSTONE0` and so on.
    let tombstone: [(column: String, value: SourceValue)]

    /// Compares the change number, the kind, the entity and the key.
    public static func == (left: CoreDataChange, right: CoreDataChange) -> Bool {
        left.number == right.number && left.kind == right.kind && left.entity == right.entity && left.key == right.key
    }

    /// Hashes the change number.
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}
