import Foundation
@_spi(Engines) import HabitStore

/// The ignore rules of a comparison.
///
/// A difference that a rule covers is listed and counted under the rule's name, and the verdict is
/// ``VerificationReport/Verdict/ignored`` where nothing else differs. A rule that has expired covers nothing.
public struct IgnoreRules: Sendable, Hashable {
    /// How many there may be.
    public static let maximum = 100
    /// No rules.
    public static let none = IgnoreRules()

    /// The rules; the first that covers a difference takes it.
    public let rules: [IgnoreRule]

    private init() { rules = [] }

    /// Gathers rules.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` when two have the same name, and
    ///   ``HabitStoreError/Code/limitExceeded`` when there are more than ``maximum``.
    public init(_ rules: [IgnoreRule]) throws {
        guard rules.count <= Self.maximum else {
            throw HabitStoreError(
                .limitExceeded,
                "there are \(rules.count) ignore rules; \(Self.maximum) are the most"
            )
        }
        var names: Set<String> = []
        for rule in rules where !names.insert(rule.name).inserted {
            throw HabitStoreError(.invalidValue, "two ignore rules are named \"\(rule.name)\"; name each differently")
        }
        self.rules = rules
    }

    /// - Throws: ``HabitStoreError/Code/unknownEntity`` or ``HabitStoreError/Code/unknownAttribute`` when a rule names
    ///   what the schema does not have, and so would cover nothing for ever.
    func validate(for schema: Schema) throws {
        for rule in rules {
            guard let name = rule.entity else { continue }
            guard let entity = schema.entities.first(where: { $0.name == name }) else {
                throw HabitStoreError(
                    .unknownEntity,
                    "the ignore rule \"\(rule.name)\" is for an entity that the store does not have",
                    at: .init(entity: name)
                )
            }
            guard let attribute = rule.attribute else { continue }
            let known = entity.attributes.map(\.name) + entity.relationships.map(\.name)
            guard known.contains(attribute) else {
                throw HabitStoreError(
                    .unknownAttribute,
                    "the ignore rule \"\(rule.name)\" is for an attribute that \(name) does not have",
                    at: .init(entity: name, attribute: attribute)
                )
            }
        }
    }
}

extension IgnoreRules: Codable {
    /// Reads a list of rules.
    ///
    /// - Throws: `DecodingError` for what ``init(_:)`` refuses.
    public init(from decoder: any Decoder) throws {
        let rules = try decoder.singleValueContainer().decode([IgnoreRule].self)
        do {
            try self.init(rules)
        } catch let error as HabitStoreError {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: error.message, underlyingError: error)
            )
        }
    }

    /// Writes a list of rules.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rules)
    }
}

extension IgnoreRules {
    /// Reads a file of ignore rules, `{"rules": [{…}]}`.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` or ``HabitStoreError/Code/inputOutput`` when it cannot be read, and
    ///   ``HabitStoreError/Code/invalidQuery`` with what is wrong in it.
    public static func load(path: String) throws -> IgnoreRules {
        let file: File = try JSONFile.load(path: path, what: "a file of ignore rules")
        return file.rules
    }

    private struct File: Decodable {
        let rules: IgnoreRules

        private enum CodingKeys: String, CodingKey { case rules }

        init(from decoder: any Decoder) throws {
            try decoder.refuseUnknownKeys(["rules"], of: "a file of ignore rules")
            rules = try decoder.container(keyedBy: CodingKeys.self).decode(IgnoreRules.self, forKey: .rules)
        }
    }
}

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
        .count, .missingInA, .missingInB, .damage, .digest, .history, .reading, .unexpected, .declaration,
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

extension IgnoreRule: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case name, reason, entity, attribute, kind, query, expires
    }

    /// Reads a rule.
    ///
    /// - Throws: `DecodingError` for an unknown field, a missing name, reason or expiry, an unknown kind, a date that is
    ///   none, and a rule that covers everything.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseUnknownKeys(CodingKeys.allCases.map(\.rawValue), of: "an ignore rule")
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        let name = try fields.decode(String.self, forKey: .name)
        guard let text = try fields.decodeIfPresent(String.self, forKey: .expires) else {
            throw DecodingError.dataCorruptedError(
                forKey: .expires,
                in: fields,
                debugDescription: "the ignore rule \"\(name)\" never expires; give it a date in \"expires\""
            )
        }
        guard let expires = ExpiryDate(text) else {
            throw DecodingError.dataCorruptedError(
                forKey: .expires,
                in: fields,
                debugDescription: "the ignore rule \"\(name)\" expires at no date; write one as 2026-12-31"
            )
        }
        let kind = try fields.decodeIfPresent(String.self, forKey: .kind)
        if let kind, StoreDifference.Kind(rawValue: kind) == nil {
            let known = StoreDifference.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw DecodingError.dataCorruptedError(
                forKey: .kind,
                in: fields,
                debugDescription: "the ignore rule \"\(name)\" has no kind of difference; there are \(known)"
            )
        }
        do {
            try self.init(
                name: name,
                reason: try fields.decode(String.self, forKey: .reason),
                entity: try fields.decodeIfPresent(String.self, forKey: .entity),
                attribute: try fields.decodeIfPresent(String.self, forKey: .attribute),
                kind: kind.flatMap(StoreDifference.Kind.init),
                query: try fields.decodeIfPresent(String.self, forKey: .query),
                expires: expires.end
            )
        } catch let error as HabitStoreError {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: error.message, underlyingError: error)
            )
        }
    }

    /// Writes a rule; what is nil is left out.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(name, forKey: .name)
        try fields.encode(reason, forKey: .reason)
        try fields.encodeIfPresent(entity, forKey: .entity)
        try fields.encodeIfPresent(attribute, forKey: .attribute)
        try fields.encodeIfPresent(kind, forKey: .kind)
        try fields.encodeIfPresent(query, forKey: .query)
        try fields.encode(ExpiryDate(end: expires).text, forKey: .expires)
    }
}

extension IgnoreRule {
    /// The place that it covers: `Entry.note, attribute`.
    public var place: String {
        let subject = [entity, attribute].compactMap { $0 }.joined(separator: ".")
        let parts = [subject.isEmpty ? nil : subject, kind?.rawValue, query.map { "query \"\($0)\"" }]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }

    /// The day at whose end it expires (UTC), or the instant.
    public var expiryText: String { ExpiryDate(end: expires).text }
}

/// The use of an ignore rule in a comparison.
public struct IgnoreRuleUse: Sendable, Hashable, Codable {
    /// The rule.
    public var rule: IgnoreRule
    /// Whether it had expired, and so covered nothing.
    public var isExpired: Bool
    /// How many differences it covered.
    public var differences: Int

    init(_ rule: IgnoreRule, now: Date) {
        self.rule = rule
        isExpired = rule.expires <= now
        differences = 0
    }
}

/// When a rule expires: a day, at whose end (UTC) it does, or an instant.
struct ExpiryDate {
    /// The first instant at which the rule covers nothing.
    let end: Date

    private static let daySeconds = 86_400.0
    private static let day = Date.ISO8601FormatStyle().year().month().day()
    private static let instants = [
        Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true),
    ]

    init(end: Date) { self.end = end }

    /// Reads `2026-12-31` or `2026-12-31T12:00:00Z`; nil for what is neither.
    init?(_ text: String) {
        // The style reads a day's beginning and passes over what follows it, and takes the 30th of February for March.
        if let day = try? Self.day.parse(text), Self.day.format(day) == text {
            end = day.addingTimeInterval(Self.daySeconds)
        } else if let instant = Self.instants.lazy.compactMap({ try? $0.parse(text) }).first {
            end = instant
        } else {
            return nil
        }
    }

    /// The day, where it is the end of one; else the instant.
    var text: String {
        let before = Self.day.format(end.addingTimeInterval(-Self.daySeconds))
        if let day = ExpiryDate(before), day.end == end { return before }
        return Self.instants[1].format(end)
    }
}
