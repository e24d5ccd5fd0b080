import Foundation

/// A difference between two stores.
public struct StoreDifference: Sendable, Codable, Hashable {
    /// Names the difference: the first 12 hexadecimal digits of SHA-256 over ``kind``, ``entity``, ``id`` (but for
    /// queries), ``attribute``, ``query`` and ``subject``. The same difference has the same identifier whenever it is found. Where a report lists
    /// several that agree in all of these, each further one is numbered, and the number goes into the hash.
    public internal(set) var differenceID: String
    /// What kind it is.
    public var kind: Kind
    /// One sentence, without the user's values.
    public var message: String
    /// The entity.
    public var entity: String?
    /// The record.
    public var id: UUID?
    /// The attribute or relationship.
    public var attribute: String?
    /// The name of the query.
    public var query: String?
    /// What tells it apart from others of the same place: the store that it is about (`A`, `B`), the kind of damage.
    public var subject: String?
    /// The value in the first store; redacted unless values were asked for.
    public var a: String?
    /// The value in the second store; redacted unless values were asked for.
    public var b: String?
    /// The name of the rule that ignores it; nil when it counts.
    public var ignoredBy: String?

    /// Describes a difference.
    public init(
        _ kind: Kind,
        _ message: String,
        entity: String? = nil,
        id: UUID? = nil,
        attribute: String? = nil,
        query: String? = nil,
        a: String? = nil,
        b: String? = nil,
        subject: String? = nil
    ) {
        self.kind = kind
        self.message = message
        self.entity = entity
        self.id = id
        self.attribute = attribute
        self.query = query
        self.subject = subject
        self.a = a
        self.b = b
        differenceID = ""
        differenceID = identifier(occurrence: 1)
    }
}
