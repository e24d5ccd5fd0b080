import HabitStore

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
