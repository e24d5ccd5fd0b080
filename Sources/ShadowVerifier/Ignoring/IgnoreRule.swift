import Foundation
@_spi(Engines) import HabitStore

/// A rule that ignores known differences of one place, for a while.
///
/// In JSON it is one object; ``name``, ``reason`` and ``expires`` are required, and ``entity`` or ``query``:
///
/// ```json
/// {"name": "notes are trimmed", "reason": "the importer is being mended", "entity": "Entry", "attribute": "note",
///  "kind": "attribute", "expires": "2026-12-31"}
/// ```
public struct IgnoreRule: Sendable, Hashable {
    /// Its name in reports.
    public var name: String
    /// Why the differences may stand.
    public var reason: String
    /// The entity of the differences that it covers; nil for any that the query gives.
    public var entity: String?
    /// Their attribute or relationship; nil for any.
    public var attribute: String?
    /// Their kind; nil for any but those in ``losing``.
    public var kind: StoreDifference.Kind?
    /// The name of the query; nil for any query, and for differences outside of queries.
    public var query: String?
    /// The instant from which on it covers nothing.
    public var expires: Date

    /// Kinds that indicate lost records or a broken store. A rule covers them only if it names them.
    public static let losing: Set<StoreDifference.Kind> = [
        .count, .missingInA, .missingInB, .damage, .digest, .history, .reading, .unexpected,
    ]

    /// Makes a rule.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` when the name or the reason is empty, or when the rule names
    ///   neither an entity nor a query.
    public init(
        name: String,
        reason: String,
        entity: String? = nil,
        attribute: String? = nil,
        kind: StoreDifference.Kind? = nil,
        query: String? = nil,
        expires: Date
    ) throws {
        self.name = name
        self.reason = reason
        self.entity = entity
        self.attribute = attribute
        self.kind = kind
        self.query = query
        self.expires = expires
        let isEmpty = [name, reason, entity ?? "-", attribute ?? "-", query ?? "-"]
            .contains { $0.allSatisfy(\.isWhitespace) }
        guard !isEmpty else {
            throw HabitStoreError(.invalidValue, "the ignore rule \"\(name)\" has an empty text; give every field one")
        }
        guard entity != nil || query != nil else {
            throw HabitStoreError(
                .invalidValue,
                "the ignore rule \"\(name)\" covers everything; name the entity or the query that it is for"
            )
        }
    }

    /// Whether the rule's place is that of a difference, whatever the time.
    public func covers(_ difference: StoreDifference) -> Bool {
        if kind == nil, Self.losing.contains(difference.kind) { return false }
        return (entity == nil || entity == difference.entity)
            && (attribute == nil || attribute == difference.attribute)
            && (kind == nil || kind == difference.kind)
            && (query == nil || query == difference.query)
    }
}
