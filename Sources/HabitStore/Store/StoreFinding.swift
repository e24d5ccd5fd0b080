import Foundation

/// Something that a check found in a store.
public struct StoreFinding: Sendable, Hashable, Codable {
    /// How bad it is.
    public enum Severity: String, Sendable, Hashable, Codable {
        /// Odd data that is carried over unchanged: dangling references, duplicates, odd dates.
        case anomaly
        /// A sound record that this program's model cannot read, so that each fetch that finds it throws. Most likely a newer version
        /// of the app wrote it.
        case unreadable
        /// The store contradicts itself or is damaged.
        case damage
    }

    /// How bad it is.
    public let severity: Severity
    /// The kind, a stable word: `danglingReference`, `indexEntryMissing`.
    public let kind: String
    /// The entity concerned.
    public let entity: String?
    /// The record concerned.
    public let id: UUID?
    /// The attribute concerned.
    public let attribute: String?
    /// One sentence, without the user's values.
    public let message: String

    /// Makes a finding.
    public init(
        _ severity: Severity,
        _ kind: String,
        _ message: String,
        entity: String? = nil,
        id: UUID? = nil,
        attribute: String? = nil
    ) {
        self.severity = severity
        self.kind = kind
        self.message = message
        self.entity = entity
        self.id = id
        self.attribute = attribute
    }
}
