/// Something that evaluates flags: a snapshot, or a provider whose flags follow their files.
///
/// The requirements and results are OpenFeature's, so that a provider of an OpenFeature SDK needs no more than to hand
/// its calls on.
public protocol FlagEvaluator: Sendable {
    /// Evaluates a flag whatever the type of its value is.
    func resolve(_ key: String, context: EvaluationContext) -> Resolution

    /// Evaluates a flag whose value must have one type; another type is a `TYPE_MISMATCH`.
    func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) -> Resolution
}

extension FlagEvaluator {
    /// Evaluates a flag with an empty context.
    public func resolve(_ key: String) -> Resolution { resolve(key, context: EvaluationContext()) }

    /// Evaluates a flag whose value must have one type; another type is a `TYPE_MISMATCH`.
    public func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) -> Resolution {
        resolve(key, context: context).checked(type)
    }

    /// Evaluates a flag of boolean variants.
    public func boolean(
        _ key: String,
        default defaultValue: Bool,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<Bool> {
        EvaluationDetails(key, defaultValue, resolve(key, as: .boolean, context: context)) { $0.boolValue }
    }

    /// Evaluates a flag of string variants.
    public func string(
        _ key: String,
        default defaultValue: String,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<String> {
        EvaluationDetails(key, defaultValue, resolve(key, as: .string, context: context)) { $0.stringValue }
    }

    /// Evaluates a flag of number variants. A variant that is not an integer, or a floating-point number outside ±(2^53 - 1), is a
    /// `TYPE_MISMATCH`: values are not rounded.
    public func int(
        _ key: String,
        default defaultValue: Int64,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<Int64> {
        EvaluationDetails(key, defaultValue, resolve(key, as: .int, context: context)) { $0.intValue }
    }

    /// Evaluates a flag of number variants. An integer outside ±(2^53 - 1) is a `TYPE_MISMATCH`: nothing is rounded.
    public func double(
        _ key: String,
        default defaultValue: Double,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<Double> {
        EvaluationDetails(key, defaultValue, resolve(key, as: .double, context: context)) { $0.doubleValue }
    }

    /// Evaluates a flag of object variants.
    public func object(
        _ key: String,
        default defaultValue: [String: FlagValue],
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<[String: FlagValue]> {
        EvaluationDetails(key, defaultValue, resolve(key, as: .object, context: context)) { $0.objectValue }
    }
}

extension EvaluationDetails {
    fileprivate init(
        _ key: String,
        _ defaultValue: Value,
        _ resolution: Resolution,
        _ convert: (FlagValue) -> Value?
    ) {
        self.init(flagKey: key, value: resolution.value.flatMap(convert) ?? defaultValue, resolution: resolution)
    }
}

/// Whom and what a flag is evaluated for.
public struct EvaluationContext: Sendable, Equatable {
    /// The subject, such as a user's id. Rules read it as `{"var": "targetingKey"}`, and percentages depend on it.
    public var targetingKey: String?
    /// Further facts by name. Rules read `{"var": "app.platform"}` as the member `platform` of the attribute `app`.
    ///
    /// The name `$flagd` belongs to the evaluation and hides an attribute of that name; the attribute `targetingKey`
    /// is used only where ``targetingKey`` is nil.
    public var attributes: [String: FlagValue]

    /// Makes a context.
    public init(targetingKey: String? = nil, attributes: [String: FlagValue] = [:]) {
        self.targetingKey = targetingKey
        self.attributes = attributes
    }
}

extension EvaluationContext {
    /// Sets the attribute that `var` reads at a path.
    ///
    /// - Parameter replacesOld: Whether a value that is there already goes.
    package mutating func set(_ value: FlagValue, at path: String, replacesOld: Bool = true) {
        let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        Self.set(value, at: names[...], in: &attributes, replacesOld)
    }

    private static func set(
        _ value: FlagValue,
        at names: ArraySlice<String>,
        in members: inout [String: FlagValue],
        _ replacesOld: Bool
    ) {
        guard let name = names.first else { return }
        if names.count > 1 {
            var inner = members[name]?.objectValue ?? [:]
            set(value, at: names.dropFirst(), in: &inner, replacesOld)
            members[name] = .object(inner)
        } else if replacesOld || members[name] == nil {
            members[name] = value
        }
    }
}

/// The typed outcome of an evaluation.
///
/// ``value`` can always be used: it is the caller's default where the flag gave none.
public struct EvaluationDetails<Value: Sendable>: Sendable {
    /// The key that was asked for.
    public let flagKey: String
    /// The flag's value, or the caller's default.
    public let value: Value
    private let resolution: Resolution

    /// The variant's name; nil where the value is the caller's default.
    public var variant: String? { resolution.variant }
    /// Why it is this value.
    public var reason: Reason { resolution.reason }
    /// The kind of the error; set exactly when ``reason`` is ``Reason/error``.
    public var errorCode: FlagError.Code? { resolution.errorCode }
    /// The error; set together with ``errorCode``.
    public var errorMessage: String? { resolution.errorMessage }
    /// The flag set's metadata with the flag's own laid over it.
    public var flagMetadata: [String: FlagValue] { resolution.flagMetadata }

    /// Makes an outcome out of an untyped one.
    public init(flagKey: String, value: Value, resolution: Resolution) {
        self.flagKey = flagKey
        self.value = value
        self.resolution = resolution
    }
}

extension EvaluationDetails: Equatable where Value: Equatable {}

/// The untyped outcome of an evaluation.
///
/// Outcomes are made when a file is loaded, and shared: handing one out costs no allocation.
public struct Resolution: Sendable {
    private struct Fields: Equatable {
        let value: FlagValue?
        let variant: String?
        let reason: Reason
        let errorCode: FlagError.Code?
        let errorMessage: String?
        let flagMetadata: [String: FlagValue]
    }

    /// What all copies of an outcome share.
    private final class Storage: Sendable {
        let fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    private let storage: Storage

    /// The variant's value; nil if the caller's default applies.
    public var value: FlagValue? { storage.fields.value }
    /// The variant's name; nil exactly when ``value`` is nil.
    public var variant: String? { storage.fields.variant }
    /// Why it is this value.
    public var reason: Reason { storage.fields.reason }
    /// The kind of the error; set exactly when ``reason`` is ``Reason/error``.
    public var errorCode: FlagError.Code? { storage.fields.errorCode }
    /// The error; set together with ``errorCode``.
    public var errorMessage: String? { storage.fields.errorMessage }
    /// The flag set's metadata with the flag's own laid over it.
    public var flagMetadata: [String: FlagValue] { storage.fields.flagMetadata }

    /// Makes an outcome; for evaluators other than this module's.
    public init(
        value: FlagValue? = nil,
        variant: String? = nil,
        reason: Reason,
        errorCode: FlagError.Code? = nil,
        errorMessage: String? = nil,
        flagMetadata: [String: FlagValue] = [:]
    ) {
        storage = Storage(
            Fields(
                value: value,
                variant: variant,
                reason: reason,
                errorCode: errorCode,
                errorMessage: errorMessage,
                flagMetadata: flagMetadata
            )
        )
    }

    /// A success with a variant.
    static func variant(
        _ name: String,
        _ value: FlagValue,
        _ reason: Reason,
        metadata: [String: FlagValue]
    ) -> Resolution {
        Resolution(value: value, variant: name, reason: reason, flagMetadata: metadata)
    }

    /// A success without a variant: the caller's default applies.
    static func callerDefault(_ reason: Reason, metadata: [String: FlagValue]) -> Resolution {
        Resolution(reason: reason, flagMetadata: metadata)
    }

    /// A failure: the caller's default applies.
    static func failure(
        _ code: FlagError.Code,
        _ message: String,
        metadata: [String: FlagValue]
    ) -> Resolution {
        Resolution(reason: .error, errorCode: code, errorMessage: message, flagMetadata: metadata)
    }

    /// The same outcome, or a failure where the value is of another type than the one that is asked for.
    func checked(_ type: FlagValueType) -> Resolution {
        guard let value, !type.fits(value) else { return self }
        return .failure(
            .typeMismatch,
            "the flag's value is of type \(value.typeName), and a \(type.name) was asked for",
            metadata: flagMetadata
        )
    }
}

extension Resolution: Equatable {
    /// Whether the outcomes are the same in all their parts.
    public static func == (left: Resolution, right: Resolution) -> Bool {
        left.storage === right.storage || left.storage.fields == right.storage.fields
    }
}

/// Why an evaluation gave its value. The names are OpenFeature's, and the set is open, as there.
public struct Reason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable name, as OpenFeature spells it.
    public let rawValue: String

    /// Makes a reason from its stable name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable name.
    public var description: String { rawValue }
}

extension Reason {
    /// The flag has no targeting; the default variant was served.
    public static var `static`: Self { Self(rawValue: "STATIC") }
    /// The targeting gave no variant; the default variant, or the caller's default, was served.
    public static var `default`: Self { Self(rawValue: "DEFAULT") }
    /// The targeting chose the variant.
    public static var targetingMatch: Self { Self(rawValue: "TARGETING_MATCH") }
    /// The variant came from a pseudo-random assignment. flagd says `TARGETING_MATCH` there, and so does this module.
    public static var split: Self { Self(rawValue: "SPLIT") }
    /// The value came from a cache.
    public static var cached: Self { Self(rawValue: "CACHED") }
    /// The flag is switched off in its file; the caller's default was served.
    public static var disabled: Self { Self(rawValue: "DISABLED") }
    /// The reason is not known.
    public static var unknown: Self { Self(rawValue: "UNKNOWN") }
    /// The value comes from flags that may be out of date.
    public static var stale: Self { Self(rawValue: "STALE") }
    /// The evaluation failed; the caller's default was served.
    public static var error: Self { Self(rawValue: "ERROR") }
}

/// One operator of a rule that was evaluated, as an explanation shows it.
public struct EvaluationStep: Sendable, Equatable {
    /// The operator's name, such as `if` or `sem_ver`.
    public let `operator`: String
    /// The line in the flag file where it stands, counted from 1.
    public let line: Int
    /// The column in the flag file where it stands, counted from 1.
    public let column: Int
    /// How deep it stands in other operators; 0 is the rule itself.
    public let depth: Int
    /// The result; nil if the evaluation was aborted inside the step. May contain values of the context.
    public internal(set) var result: FlagValue?
    /// How the percentage was decided, for `fractional`.
    public internal(set) var fractional: FractionalChoice?
}

/// How `fractional` chose.
public struct FractionalChoice: Sendable, Equatable {
    /// The algorithm.
    public let generation: FractionalGeneration
    /// The bytes that were hashed. They are made of values of the context.
    public let bucketingBytes: [UInt8]
    /// Their MurmurHash3_x86_32 with seed 0.
    public let hash: UInt32
    /// Where the hash lies: in `0..<totalWeight` for v2 and v3, in `0...100` for v1.
    public let bucket: UInt64
    /// The sum of all weights.
    public let totalWeight: UInt64
    /// The entries in the order of the rule.
    public let entries: [Entry]
    /// The index of the chosen entry; nil where none was hit, which only v1 knows.
    public let chosen: Int?

    /// An entry of the rule.
    public struct Entry: Sendable, Equatable {
        /// The variant, or another value that the rule gives.
        public let variant: FlagValue
        /// Its weight.
        public let weight: UInt64
    }
}
