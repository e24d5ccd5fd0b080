import Foundation
import Hashing

/// An evaluation that served a variant to a user: what an experiment or an audit counts.
///
/// It contains nothing of the evaluation context; the subject is identified by a keyed hash.
public struct FlagExposure: Sendable, Hashable {
    /// The flag.
    public let flagKey: String
    /// The variant's name; nil where the caller's default was served.
    public let variant: String?
    /// Why it was this variant.
    public let reason: Reason
    /// The kind of the error; set exactly when ``reason`` is ``Reason/error``.
    public let errorCode: FlagError.Code?
    /// The HMAC-SHA256 of the targeting key under the hook's key, in hexadecimal digits; nil without a targeting key, or
    /// with an empty one.
    public let subject: String?
    /// The metadata `version` of the flag or the flag set, if it is a text.
    public let version: String?
}

/// An observer of each evaluation of a ``FlagProvider``.
public struct FlagExposureHook: Sendable {
    private let key: SymmetricKey
    private let onExposure: @Sendable (FlagExposure) -> Void

    /// Makes a hook.
    ///
    /// - Parameters:
    ///   - hashKey: The key for hashing targeting keys. The same key gives the same subject the same hash, on every device and after every
    ///     restart. With the key, one can find out whose hash it is by trying ids; without it, one cannot. Use at least 32 random bytes.
    ///   - onExposure: Called on the evaluating thread, before the evaluation returns. It must be quick, and must not evaluate flags of the same
    ///     provider.
    public init(hashKey: Data, onExposure: @escaping @Sendable (FlagExposure) -> Void) {
        key = SymmetricKey(data: hashKey)
        self.onExposure = onExposure
    }

    func tell(_ flagKey: String, _ context: EvaluationContext, _ resolution: Resolution) {
        onExposure(
            FlagExposure(
                flagKey: flagKey,
                variant: resolution.variant,
                reason: resolution.reason,
                errorCode: resolution.errorCode,
                subject: subject(of: context),
                version: resolution.flagMetadata["version"]?.stringValue
            )
        )
    }

    private func subject(of context: EvaluationContext) -> String? {
        guard let id = context.targetingKey ?? context.attributes["targetingKey"]?.stringValue, !id.isEmpty else {
            return nil
        }
        return HMAC<SHA256>.authenticationCode(for: Array(id.utf8), using: key).hexadecimal
    }
}
