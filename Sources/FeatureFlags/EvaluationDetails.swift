/// The typed outcome of an evaluation.
///
/// ``value`` can always be used: it is the caller's default where the flag gave none.
public struct EvaluationDetails<Value: Sendable>: Sendable {
    /// The key that was asked for.
    public let flagKey: String
    /// The flag's value, or the caller's default.
    public let value: Value
    /// The variant's name; nil where the value is the caller's default.
    public let variant: String?
    /// Why it is this value.
    public let reason: Reason
    /// The kind of the error; set exactly when ``reason`` is ``Reason/error``.
    public let errorCode: FlagError.Code?
    /// What is wrong; set together with ``errorCode``.
    public let errorMessage: String?
    /// The flag set's metadata with the flag's own laid over it.
    public let flagMetadata: [String: FlagValue]

    /// Makes an outcome.
    public init(
        flagKey: String,
        value: Value,
        variant: String? = nil,
        reason: Reason,
        errorCode: FlagError.Code? = nil,
        errorMessage: String? = nil,
        flagMetadata: [String: FlagValue] = [:]
    ) {
        self.flagKey = flagKey
        self.value = value
        self.variant = variant
        self.reason = reason
        self.errorCode = errorCode
        self.errorMessage = errorMessage
        self.flagMetadata = flagMetadata
    }
}

extension EvaluationDetails: Equatable where Value: Equatable {}
