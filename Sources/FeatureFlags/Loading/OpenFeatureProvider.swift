/// Adapts a flag file or any other evaluator to the `FeatureProvider` interface of OpenFeature's SDK for Swift.
///
/// ```swift
/// let provider = OpenFeatureProvider(try FlagProvider(sources: [FlagSource(path: "flags.json")]))
/// let evaluation = provider.getBooleanEvaluation(
///     key: "new-welcome", defaultValue: false, context: EvaluationContext(targetingKey: "alice"))
/// ```
///
/// This package does not depend on the SDK; <doc:OpenFeature> has the code with which an app registers the provider. Nothing is
/// thrown: an error is the caller's default with an ``OpenFeatureEvaluation/errorCode``.
public struct OpenFeatureProvider: OpenFeatureEvaluating {
    private let evaluator: any FlagEvaluator

    /// Wraps an evaluator.
    public init(_ evaluator: any FlagEvaluator) { self.evaluator = evaluator }

    /// Evaluates a flag of boolean variants.
    public func getBooleanEvaluation(
        key: String,
        defaultValue: Bool,
        context: EvaluationContext?
    ) -> OpenFeatureEvaluation<Bool> {
        OpenFeatureEvaluation(evaluator.boolean(key, default: defaultValue, context: context ?? EvaluationContext()))
    }

    /// Evaluates a flag of string variants.
    public func getStringEvaluation(
        key: String,
        defaultValue: String,
        context: EvaluationContext?
    ) -> OpenFeatureEvaluation<String> {
        OpenFeatureEvaluation(evaluator.string(key, default: defaultValue, context: context ?? EvaluationContext()))
    }

    /// Evaluates a flag of number variants; nothing is rounded.
    public func getIntegerEvaluation(
        key: String,
        defaultValue: Int64,
        context: EvaluationContext?
    ) -> OpenFeatureEvaluation<Int64> {
        OpenFeatureEvaluation(evaluator.int(key, default: defaultValue, context: context ?? EvaluationContext()))
    }

    /// Evaluates a flag of number variants; nothing is rounded.
    public func getDoubleEvaluation(
        key: String,
        defaultValue: Double,
        context: EvaluationContext?
    ) -> OpenFeatureEvaluation<Double> {
        OpenFeatureEvaluation(evaluator.double(key, default: defaultValue, context: context ?? EvaluationContext()))
    }

    /// Evaluates a flag of object variants.
    public func getObjectEvaluation(
        key: String,
        defaultValue: FlagValue,
        context: EvaluationContext?
    ) -> OpenFeatureEvaluation<FlagValue> {
        let resolution = evaluator.resolve(key, as: .object, context: context ?? EvaluationContext())
        return OpenFeatureEvaluation(
            EvaluationDetails(flagKey: key, value: resolution.value ?? defaultValue, resolution: resolution)
        )
    }
}

/// What evaluates flags by the interface of a `FeatureProvider` in OpenFeature's SDK for Swift: ``OpenFeatureProvider``, or a provider
/// of the SDK's by way of a few lines, see <doc:OpenFeature>.
public protocol OpenFeatureEvaluating: Sendable {
    /// Evaluates a flag of boolean variants.
    func getBooleanEvaluation(
        key: String,
        defaultValue: Bool,
        context: EvaluationContext?
    ) throws -> OpenFeatureEvaluation<Bool>

    /// Evaluates a flag of string variants.
    func getStringEvaluation(
        key: String,
        defaultValue: String,
        context: EvaluationContext?
    ) throws -> OpenFeatureEvaluation<String>

    /// Evaluates a flag of whole numbers.
    func getIntegerEvaluation(
        key: String,
        defaultValue: Int64,
        context: EvaluationContext?
    ) throws -> OpenFeatureEvaluation<Int64>

    /// Evaluates a flag of floating-point numbers.
    func getDoubleEvaluation(
        key: String,
        defaultValue: Double,
        context: EvaluationContext?
    ) throws -> OpenFeatureEvaluation<Double>

    /// Evaluates a flag of object variants.
    func getObjectEvaluation(
        key: String,
        defaultValue: FlagValue,
        context: EvaluationContext?
    ) throws -> OpenFeatureEvaluation<FlagValue>
}

/// The outcome of an evaluation, with the members of `ProviderEvaluation` in OpenFeature's SDK for Swift.
public struct OpenFeatureEvaluation<Value: Sendable>: Sendable {
    /// The flag's value; the caller's default where it gave none.
    public var value: Value
    /// Facts about the flag and its set. OpenFeature has booleans, texts and numbers there.
    public var flagMetadata: [String: FlagValue]
    /// The variant's name; nil where the value is the caller's default.
    public var variant: String?
    /// Why it is this value, as OpenFeature's specification spells it: `TARGETING_MATCH`.
    public var reason: String?
    /// The kind of the error; nil where there was none.
    public var errorCode: OpenFeatureErrorCode?
    /// The error; set together with ``errorCode``.
    public var errorMessage: String?

    /// Makes an outcome.
    public init(
        value: Value,
        flagMetadata: [String: FlagValue] = [:],
        variant: String? = nil,
        reason: String? = nil,
        errorCode: OpenFeatureErrorCode? = nil,
        errorMessage: String? = nil
    ) {
        (self.value, self.flagMetadata, self.variant) = (value, flagMetadata, variant)
        (self.reason, self.errorCode, self.errorMessage) = (reason, errorCode, errorMessage)
    }
}

extension OpenFeatureEvaluation: Equatable where Value: Equatable {}

extension OpenFeatureEvaluation {
    init(_ details: EvaluationDetails<Value>) {
        self.init(
            value: details.value,
            flagMetadata: details.flagMetadata,
            variant: details.variant,
            reason: details.reason.rawValue,
            errorCode: details.errorCode.map { OpenFeatureErrorCode($0) },
            errorMessage: details.errorMessage
        )
    }

    /// The outcome of an untyped evaluation.
    ///
    /// - Parameters:
    ///   - defaultValue: what the evaluation was to give where the flag gives nothing. A value that equals it and has no variant is not
    ///     the flag's.
    ///   - convert: makes a flag's value of it.
    public func resolution(default defaultValue: Value, _ convert: (Value) -> FlagValue) -> Resolution
    where Value: Equatable {
        let reason = reason.map { Reason(openFeature: $0) } ?? .unknown
        let isDefault = reason == .disabled || variant == nil && value == defaultValue
        guard errorCode == nil, reason != .error else {
            return Resolution(
                reason: .error,
                errorCode: (errorCode ?? .general).code,
                errorMessage: errorMessage ?? "the provider does not say why",
                flagMetadata: flagMetadata
            )
        }
        return Resolution(
            value: isDefault ? FlagValue?.none : convert(value),
            variant: isDefault ? nil : variant ?? "",
            reason: reason,
            flagMetadata: flagMetadata
        )
    }
}

extension Reason {
    /// A reason as OpenFeature's specification spells it, or as the cases of `Reason` in its SDK for Swift are named.
    init(openFeature text: String) {
        let names: [String: Reason] = [
            "staticReason": .static, "defaultReason": .default, "targetingMatch": .targetingMatch, "split": .split,
            "cached": .cached, "disabled": .disabled, "unknown": .unknown, "stale": .stale, "error": .error,
        ]
        self = names[text] ?? Reason(rawValue: text)
    }
}

/// OpenFeature's codes of errors, with the cases and the raw values of `ErrorCode` in its SDK for Swift.
public enum OpenFeatureErrorCode: Int, Sendable, Hashable, CaseIterable {
    /// `PROVIDER_NOT_READY`
    case providerNotReady
    /// `FLAG_NOT_FOUND`
    case flagNotFound
    /// `PARSE_ERROR`
    case parseError
    /// `TYPE_MISMATCH`
    case typeMismatch
    /// `TARGETING_KEY_MISSING`
    case targetingKeyMissing
    /// `INVALID_CONTEXT`
    case invalidContext
    /// `GENERAL`
    case general
    /// `PROVIDER_FATAL`
    case providerFatal

    /// The code by its name in the specification; one that it does not have is `general`.
    public init(_ code: FlagError.Code) {
        self = Self.allCases.first { $0.code == code } ?? .general
    }

    /// The code's name in the specification.
    public var code: FlagError.Code {
        switch self {
        case .providerNotReady: .providerNotReady
        case .flagNotFound: .flagNotFound
        case .parseError: .parseError
        case .typeMismatch: .typeMismatch
        case .targetingKeyMissing: .targetingKeyMissing
        case .invalidContext: .invalidContext
        case .general: .general
        case .providerFatal: .providerFatal
        }
    }
}
