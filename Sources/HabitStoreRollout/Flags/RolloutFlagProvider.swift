import FeatureFlags

/// A source of the rollout's flags that an app has of its own: a remote configuration, a service of feature flags.
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
/// let stores = try UserStores(root: root, flags: .provider(RemoteFlags(configuration: configuration)))
/// ```
///
/// Like a flag file it only proposes. An error, an answer that does not come in time or makes no sense, one that says it may be
/// out of date, and answers that change while they are given move nobody; the note says so. The kill switch's sentinel file works
/// whatever a provider does. The requirement is one of ``FeatureFlags/FlagEvaluator``'s: whatever conforms to that is a provider by its
/// name alone.
public protocol RolloutFlagProvider: Sendable {
    /// What notes and the log call it.
    var name: String { get }

    /// Evaluates one of the flags of ``RolloutFlags`` for a user.
    ///
    /// It is asked from any thread, of several at once, for all flags at a time: when a user is opened or moved, when ``watch(_:)`` has
    /// told of a change, and every ``RolloutOptions/recheckSeconds``. It should answer from memory:
    /// ``RolloutOptions/flagWaitSeconds`` is all the time that it has for them. It must not use the user's store.
    ///
    /// - Parameters:
    ///   - key: the flag's key.
    ///   - type: what is expected: a boolean of the kill flag, a text of the others.
    ///   - context: the user's id as the targeting key, and the attributes that the app gave with the user.
    /// - Returns: ``FeatureFlags/Resolution/missing(_:)`` where there is no such flag. With another reason than `STATIC`
    ///   or `DEFAULT` the flags take back nobody whom they placed with another reason: both may stand for a percentage. The member `version` of the metadata
    ///   tells one state of a flag from another, see <doc:FlagProviders>.
    func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) throws -> Resolution

    /// Is given what to call whenever answers may have changed, once, before the first question.
    func watch(_ onChange: @escaping @Sendable () -> Void)
}

extension RolloutFlagProvider {
    /// The type's name.
    public var name: String { "\(Self.self)" }

    /// Nothing: changes are seen every ``RolloutOptions/recheckSeconds``, and when a user is opened or moved.
    public func watch(_ onChange: @escaping @Sendable () -> Void) {}
}

extension Resolution {
    /// What a provider answers that has no flag of a key.
    public static func missing(_ key: String) -> Resolution {
        Resolution(reason: .error, errorCode: .flagNotFound, errorMessage: "there is no flag \(key)")
    }
}
