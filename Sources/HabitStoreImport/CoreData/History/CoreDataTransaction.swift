import Foundation

/// One save of the app, as the file's persistent history remembers it.
public struct CoreDataTransaction: Sendable, Hashable {
    /// Its number, ascending; not gapless once the app has pruned.
    public let number: Int64
    /// When it was saved.
    public let timestamp: Date
    /// Who saved, as the app calls it.
    public let author: String?
    /// The name of the app's context.
    public let context: String?
    /// The app's process.
    public let process: String?
    /// The app's bundle.
    public let bundle: String?
}

/// What a save did to one record.
public struct CoreDataChange: Sendable, Hashable {
    /// What happened.
    public enum Kind: Int, Sendable, Hashable {
        /// The record is new.
        case insert = 0
        /// It has other values.
        case update = 1
        /// It is gone.
        case delete = 2
    }

    /// The number of the change.
    public let number: Int64
    /// What happened.
    public let kind: Kind
    /// The entity's number.
    public let entity: Int
    /// The record's key.
    public let key: Int64
    /// The values that the app wanted to keep of a deleted record, as they stand in `ZTOMBSTONE0` and so on.
    let tombstone: [(column: String, value: SourceValue)]

    /// Equal numbers mean one change.
    public static func == (left: CoreDataChange, right: CoreDataChange) -> Bool {
        left.number == right.number && left.kind == right.kind && left.entity == right.entity && left.key == right.key
    }

    /// By the number.
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}
