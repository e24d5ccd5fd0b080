import FeatureFlags

/// An app's own source of the rollout's flags, such as a remote configuration or a feature flag service.
///
/// ```swift
/// struct RemoteFlags: RolloutFlagProvider {
///     let configuration: RemoteConfiguration
///
///     func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) throws -> Resolution {
///         guard let text = try configuration.value(of: key, for: context.targetingKey) else { return .missing(key) }
///         let value: FlagValue = type == .boolean ? .bool(text == "true") : .string(text)
///         return Resolution(value: value, variant: text, reason: .static)
///     }
/// }
///
/// let stores = try UserStores(
///     root: root, flags: .provider(RemoteFlags(configuration: configuration)), schema: HabitSchema.current
/// )
/// ```
///
/// Like a flag file, it only proposes. Errors, late or invalid answers, answers that may be out of date, and answers that change while they are read
/// move no user; the note says so. The kill switch's sentinel file works regardless of the provider. The requirement is the one of
/// ``FeatureFlags/FlagEvaluator``: a type that conforms to that only needs to declare the conformance.
public protocol RolloutFlagProvider: Sendable {
    /// The provider's name in notes and in the log.
    var name: String { get }

    /// Evaluates one of the flags of ``RolloutFlags`` for a user.
    ///
    /// Called from any thread, also concurrently, for all flags in a row: when a user is opened or moved, after ``watch(_:)`` has reported a change,
    /// and every ``RolloutOptions/recheckSeconds``. It should answer from memory: it has ``RolloutOptions/flagWaitSeconds`` for all flags together.
    /// It must not use the user's store.
    ///
    /// - Parameters:
    ///   - key: the flag's key.
    ///   - type: the expected type: a boolean for the kill flag, a string for the others.
    ///   - context: the user's id as the targeting key, and the attributes that the app gave with the user.
    /// - Returns: ``FeatureFlags/Resolution/missing(_:)`` if there is no such flag. A reason other than `STATIC` or `DEFAULT` may stand for a
    ///   percentage: such flags take no user back whom they placed with such a reason. The member `version` of the metadata identifies a state of the
    ///   flag, see <doc:FlagProviders>.
    func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) throws -> Resolution

    /// Called once, before the first evaluation, with a closure to call whenever answers may have changed.
    func watch(_ onChange: @escaping @Sendable () -> Void)
}

extension RolloutFlagProvider {
    /// The type's name.
    public var name: String { "\(Self.self)" }

    /// Does nothing: changes are noticed every ``RolloutOptions/recheckSeconds``, and when a user is opened or moved.
    public func watch(_ onChange: @escaping @Sendable () -> Void) {}
}

extension Resolution {
    /// The answer of a provider that has no flag with this key.
    public static func missing(_ key: String) -> Resolution {
        Resolution(reason: .error, errorCode: .flagNotFound, errorMessage: "there is no flag \(key)")
    }
}
