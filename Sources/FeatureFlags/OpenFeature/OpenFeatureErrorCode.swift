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
