import Foundation
import Hashing

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

extension StoreDifference {
    /// The kinds of differences.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        /// A table that only one of two files has, or that they declare differently.
        case declaration
        /// The number of records of an entity.
        case count
        /// A record that only the first store has.
        case missingInB
        /// A record that only the second store has.
        case missingInA
        /// An attribute with different values.
        case attribute
        /// A reference that leads to a record in one store and dangles in the other.
        case dangling
        /// A relationship whose two directions do not agree within one store.
        case inverse
        /// A link that stands in a record more than once.
        case duplicateLink
        /// A query that gives other records.
        case queryRecords
        /// A query that gives the same records in another order.
        case queryOrder
        /// A query that gives another count.
        case queryCount
        /// A query that fails in one store, or in another way.
        case queryError
        /// A store that contradicts itself.
        case damage
        /// A kept digest that is not that of the records below it: the file was changed past the store's transactions.
        case digest
        /// A history transaction that differs, or that only one store has.
        case history
        /// A record that a store's own transactions read otherwise than its file has it.
        case reading
        /// A result that is not the expected one, in both stores alike.
        case unexpected
    }
}

extension StoreDifference {
    /// Hexadecimal digits of an identifier.
    static let identifierLength = 12

    /// The identifier of the n-th difference that agrees in everything which names it.
    func identifier(occurrence: Int) -> String {
        var hash = SHA256()
        // At which record two answers begin to differ is not what names the difference of a query.
        let record = query == nil ? id?.uuidString : nil
        let parts = [kind.rawValue, entity, record, attribute, query, subject]
        // Each text is preceded by its length, and an absent part has none: no two lists of parts give the same bytes.
        for part in parts {
            hash.update(data: Data((part.map { "\($0.utf8.count):\($0)" } ?? "-").utf8))
        }
        if occurrence > 1 { hash.update(data: Data("#\(occurrence)".utf8)) }
        return String(Data(hash.finalize()).hexadecimal.prefix(Self.identifierLength))
    }

    /// Takes the next number until no other difference has the same identifier.
    mutating func distinguish(from others: [StoreDifference]) {
        var occurrence = 1
        differenceID = identifier(occurrence: occurrence)
        while others.contains(where: { $0.differenceID == differenceID }) {
            occurrence += 1
            differenceID = identifier(occurrence: occurrence)
        }
    }
}

extension Data {
    /// The bytes as lowercase hexadecimal digits.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// An oddity of the data.
public struct StoreAnomaly: Sendable, Codable, Hashable {
    /// Which of the stores shows it.
    public enum Presence: String, Sendable, Codable {
        /// Both: it was carried over unchanged.
        case both
        /// The first only.
        case onlyA
        /// The second only.
        case onlyB
    }

    /// The kind, a stable word: `danglingReference`, `nonCanonicalText`.
    public var kind: String
    /// The entity.
    public var entity: String?
    /// The attribute or relationship.
    public var attribute: String?
    /// Which of the stores shows it.
    public var presence: Presence
    /// How many records show it.
    public var count: Int
    /// One of them.
    public var example: UUID?
}
