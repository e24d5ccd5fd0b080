import Foundation
import Hashing

/// That somebody was served a variant: what an experiment or an audit counts.
///
/// It holds nothing of the evaluation context: the subject is told by a keyed hash.
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

/// Somebody who wants to know of each evaluation of a ``FlagProvider``.
public struct FlagExposureHook: Sendable {
    private let key: SymmetricKey
    private let onExposure: @Sendable (FlagExposure) -> Void

    /// Makes a hook.
    ///
    /// - Parameters:
    ///   - hashKey: What targeting keys are hashed with. The same key gives the same subject the same hash, on every device
    ///     and after every restart. Whoever has it can find out whom a hash stands for by trying ids; whoever has not,
    ///     cannot. Use at least 32 random bytes.
    ///   - onExposure: Called on the thread that evaluates, before the evaluation returns: it must be quick, and must not
    ///     evaluate flags of the same provider.
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
