/// The untyped outcome of an evaluation.
///
/// Outcomes are made when a file is loaded, and shared: handing one out costs no allocation.
public struct Resolution: Sendable {
    /// What all copies of an outcome share.
    private final class Storage: Sendable {
        let value: FlagValue?
        let variant: String?
        let reason: Reason
        let errorCode: FlagError.Code?
        let errorMessage: String?
        let flagMetadata: [String: FlagValue]

        init(
            value: FlagValue?,
            variant: String?,
            reason: Reason,
            errorCode: FlagError.Code?,
            errorMessage: String?,
            flagMetadata: [String: FlagValue]
        ) {
            self.value = value
            self.variant = variant
            self.reason = reason
            self.errorCode = errorCode
            self.errorMessage = errorMessage
            self.flagMetadata = flagMetadata
        }
    }

    private let storage: Storage

    /// The variant's value; nil if the caller's default applies.
    public var value: FlagValue? { storage.value }
    /// The variant's name; nil exactly when ``value`` is nil.
    public var variant: String? { storage.variant }
    /// Why it is this value.
    public var reason: Reason { storage.reason }
    /// The kind of the error; set exactly when ``reason`` is ``Reason/error``.
    public var errorCode: FlagError.Code? { storage.errorCode }
    /// The error; set together with ``errorCode``.
    public var errorMessage: String? { storage.errorMessage }
    /// The flag set's metadata with the flag's own laid over it.
    public var flagMetadata: [String: FlagValue] { storage.flagMetadata }

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
            value: value,
            variant: variant,
            reason: reason,
            errorCode: errorCode,
            errorMessage: errorMessage,
            flagMetadata: flagMetadata
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
        if left.storage === right.storage { return true }
        return left.value == right.value && left.variant == right.variant && left.reason == right.reason
            && left.errorCode == right.errorCode && left.errorMessage == right.errorMessage
            && left.flagMetadata == right.flagMetadata
    }
}
