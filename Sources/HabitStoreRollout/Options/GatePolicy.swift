import Foundation
import HabitStore
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

extension GatePolicy {
    /// The largest policy file.
    private static let maximumFileBytes = 65_536

    /// Reads a policy from a JSON file.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if it does not exist, ``HabitStoreError/Code/permissionDenied`` if it cannot be read, and
    ///   ``HabitStoreError/Code/invalidValue`` if it is not a policy: a misspelt field would otherwise silently leave the gate unchanged.
    public static func load(path: String) throws -> GatePolicy {
        guard FileManager.default.fileExists(atPath: path) else {
            throw HabitStoreError(.notFound, "there is no policy of the gate here", at: .init(path: path))
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw HabitStoreError(.permissionDenied, "the gate's policy cannot be read", at: .init(path: path))
        }
        guard data.count <= maximumFileBytes else {
            throw HabitStoreError(
                .invalidValue,
                "the gate's policy has \(data.count) bytes; \(maximumFileBytes) are the most",
                at: .init(path: path)
            )
        }
        do {
            return try JSONDecoder().decode(GatePolicy.self, from: data)
        } catch {
            throw HabitStoreError(
                .invalidValue,
                "this is not a policy of the gate: \(reason(error))",
                at: .init(path: path),
                underlying: error
            )
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch error as? DecodingError {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            let field = context.codingPath.last?.stringValue
            return field.map { "the value of \($0) has the wrong type" } ?? "it is not a JSON object"
        case .dataCorrupted(let context): return context.debugDescription
        case .keyNotFound(let key, _): return "\(key.stringValue) is missing"
        default: return "\(error)"
        }
    }
}

/// A flat JSON object whose keys are known only where they are used: the form of events and reasons.
struct FlatFields {
    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    private let container: KeyedDecodingContainer<Key>

    init(_ decoder: any Decoder) throws { container = try decoder.container(keyedBy: Key.self) }

    /// The value of a field; nil if there is no such field and `Value` is an optional.
    func callAsFunction<Value: Decodable>(_ name: String) throws -> Value {
        let key = Key(name)
        if !container.contains(key), let optional = Value.self as? any ExpressibleByNilLiteral.Type,
            let absent = optional.init(nilLiteral: ()) as? Value
        {
            return absent
        }
        return try container.decode(Value.self, forKey: key)
    }

    /// Writes the fields that are not nil.
    static func encode(_ fields: some Sequence<(String, (any Encodable)?)>, to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for (name, value) in fields {
            if let value { try container.encode(value, forKey: Key(name)) }
        }
    }
}

/// The flat form of one case of an enum: the names of its values in their order, and how to make the case of them.
struct FlatCase<Whole: Sendable>: Sendable {
    private let names: [String]
    let read: @Sendable (FlatFields) throws -> Whole

    /// A case without values.
    init(_ whole: Whole) {
        names = []
        read = { _ in whole }
    }

    init<each Value: Decodable & Sendable>(_ make: @escaping @Sendable (repeat each Value) -> Whole, _ names: [String])
    {
        self.names = names
        read = { fields in
            var next = names.makeIterator()
            func value<Field: Decodable>(_: Field.Type) throws -> Field { try fields(next.next() ?? "") }
            return try make(repeat value((each Value).self))
        }
    }

    /// Writes the values, in the order of the names.
    func encode(_ values: [(any Encodable)?], to encoder: any Encoder) throws {
        try FlatFields.encode(zip(names, values), to: encoder)
    }
}
