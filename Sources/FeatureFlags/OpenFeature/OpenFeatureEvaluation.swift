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
