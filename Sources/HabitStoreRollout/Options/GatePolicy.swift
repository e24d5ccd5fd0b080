import Foundation
import ShadowVerifier

/// How much evidence the gate needs. In JSON, omitted fields have their defaults; an unknown field is an error.
public struct GatePolicy: Sendable, Hashable {
    /// How many clean shadow reads a stage needs.
    public var cleanShadowReads = 1_000
    /// How long a shadow read, or a store's comparison with itself, counts.
    public var evidenceLifetimeSeconds = 7 * 86_400.0
    /// How long a verification counts.
    public var verificationLifetimeSeconds = 86_400.0
    /// How long a rehearsal of the way back counts.
    public var rehearsalLifetimeSeconds = 7 * 86_400.0
    /// How long a user has to be at `complete` before the former store may be removed.
    public var retentionSeconds = 30 * 86_400.0
    /// How many transactions the mirror may lag.
    public var maximumLag = 0
    /// Whether each store must have been found equal to itself before the new one serves.
    public var requiresSelfComparison = true
    /// Differences in these places do not count in a verification; while a rule ignores a difference, the gate to `complete` stays closed.
    public var ignoreRules = IgnoreRules.none

    /// The default policy.
    public init() {}
}

extension GatePolicy: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case cleanShadowReads, evidenceLifetimeSeconds, verificationLifetimeSeconds, rehearsalLifetimeSeconds
        case retentionSeconds, maximumLag, requiresSelfComparison, ignoreRules
    }

    /// Reads the present fields; the others have their defaults.
    ///
    /// - Throws: `DecodingError` for an unknown field, a negative number, or an invalid lifetime or ignore rule.
    public init(from decoder: any Decoder) throws {
        let all = try decoder.container(keyedBy: FlatFields.Key.self)
        for key in all.allKeys where CodingKeys(stringValue: key.stringValue) == nil {
            let known = CodingKeys.allCases.map(\.rawValue).joined(separator: ", ")
            throw DecodingError.dataCorruptedError(
                forKey: key,
                in: all,
                debugDescription: "the gate's policy has no field \(key.stringValue); it has \(known)"
            )
        }
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        func field<Value: Decodable & Comparable & Numeric>(_ key: CodingKeys, _ normal: Value) throws -> Value {
            guard let value = try fields.decodeIfPresent(Value.self, forKey: key) else { return normal }
            guard value >= 0 else {
                throw DecodingError.dataCorruptedError(
                    forKey: key,
                    in: fields,
                    debugDescription: "\(key.rawValue) is \(value); it cannot be negative"
                )
            }
            return value
        }
        cleanShadowReads = try field(.cleanShadowReads, cleanShadowReads)
        evidenceLifetimeSeconds = try field(.evidenceLifetimeSeconds, evidenceLifetimeSeconds)
        verificationLifetimeSeconds = try field(.verificationLifetimeSeconds, verificationLifetimeSeconds)
        rehearsalLifetimeSeconds = try field(.rehearsalLifetimeSeconds, rehearsalLifetimeSeconds)
        retentionSeconds = try field(.retentionSeconds, retentionSeconds)
        maximumLag = try field(.maximumLag, maximumLag)
        requiresSelfComparison =
            try fields.decodeIfPresent(Bool.self, forKey: .requiresSelfComparison) ?? requiresSelfComparison
        ignoreRules = try fields.decodeIfPresent(IgnoreRules.self, forKey: .ignoreRules) ?? ignoreRules
    }
}
