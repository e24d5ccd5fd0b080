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
