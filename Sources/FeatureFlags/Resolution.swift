/// The untyped outcome of an evaluation.
public struct Resolution: Sendable, Equatable {
    /// The variant's value; nil where the caller's default is to be used.
    public let value: FlagValue?
    /// The variant's name; nil exactly when ``value`` is nil.
    public let variant: String?
    /// Why it is this value.
    public let reason: Reason
    /// The kind of the error; set exactly when ``reason`` is ``Reason/error``.
    public let errorCode: FlagError.Code?
    /// What is wrong; set together with ``errorCode``.
    public let errorMessage: String?
    /// The flag set's metadata with the flag's own laid over it.
    public let flagMetadata: [String: FlagValue]

    /// A success with a variant.
    static func variant(
        _ name: String,
        _ value: FlagValue,
        _ reason: Reason,
        metadata: [String: FlagValue]
    ) -> Resolution {
        Resolution(
            value: value,
            variant: name,
            reason: reason,
            errorCode: nil,
            errorMessage: nil,
            flagMetadata: metadata
        )
    }

    /// A success without a variant: the caller's default is to be used.
    static func callerDefault(_ reason: Reason, metadata: [String: FlagValue]) -> Resolution {
        Resolution(
            value: nil,
            variant: nil,
            reason: reason,
            errorCode: nil,
            errorMessage: nil,
            flagMetadata: metadata
        )
    }

    /// A failure: the caller's default is to be used.
    static func failure(
        _ code: FlagError.Code,
        _ message: String,
        metadata: [String: FlagValue]
    ) -> Resolution {
        Resolution(
            value: nil,
            variant: nil,
            reason: .error,
            errorCode: code,
            errorMessage: message,
            flagMetadata: metadata
        )
    }
}
