import Foundation

/// One write transaction, as the history remembers it.
public struct HistoryTransaction: Sendable, Hashable, Codable {
    /// Its number.
    public let token: HistoryToken
    /// When it was committed, by the clock of the machine that wrote it.
    public let timestamp: Date
    /// Who wrote it, as given to `write(author:)`.
    public let author: String?
    /// Its net changes, in the order in which the records were first touched.
    public let changes: [HistoryChange]

    /// Makes a transaction.
    public init(token: HistoryToken, timestamp: Date, author: String?, changes: [HistoryChange]) {
        self.token = token
        self.timestamp = timestamp
        self.author = author
        self.changes = changes
    }
}

/// One record's net change within a transaction.
public struct HistoryChange: Sendable, Hashable, Codable {
    /// What happened to the record.
    public enum Kind: Sendable, Hashable, Codable {
        /// It was not there before.
        case insert
        /// The named attributes have other values than before.
        case update(updatedAttributes: [String])
        /// It is gone; the values of its attributes that are preserved on deletion.
        case delete(tombstone: [String: Value])
    }

    /// The entity's name.
    public let entity: String
    /// The record.
    public let id: UUID
    /// What happened to it.
    public let kind: Kind

    /// Makes a change.
    public init(entity: String, id: UUID, kind: Kind) {
        self.entity = entity
        self.id = id
        self.kind = kind
    }
}
