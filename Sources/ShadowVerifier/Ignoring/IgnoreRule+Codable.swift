import Foundation
import HabitStore

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
