import FeatureFlags

/// The rollout's flags, as something says that has the interface of a provider of OpenFeature's.
struct OpenFeatureFlags: RolloutFlagProvider {
    let name: String
    let client: any OpenFeatureEvaluating
    let listen: @Sendable (_ onChange: @escaping @Sendable () -> Void) -> Void

    func watch(_ onChange: @escaping @Sendable () -> Void) { listen(onChange) }

    func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) throws -> Resolution {
        guard type == .boolean else {
            // No stage and no engine has this name.
            return try client.getStringEvaluation(key: key, defaultValue: "", context: context)
                .resolution(default: "") { .string($0) }
        }
        return try client.getBooleanEvaluation(key: key, defaultValue: false, context: context)
            .resolution(default: false) { .bool($0) }
    }
}

extension FlagOrigin {
    /// Something that has the interface of a provider of OpenFeature's.
    ///
    /// Its contexts are those of single users: a client of the SDK for Swift has one context for the whole process, so it is the SDK's
    /// *provider* that is wrapped.
    ///
    /// - Parameters:
    ///   - client: answers for a user, within ``RolloutOptions/flagWaitSeconds``.
    ///   - name: what notes and the log call it.
    ///   - listen: is given what to call whenever answers may have changed: on the provider's event `configurationChanged`.
    public static func openFeature(
        _ client: any OpenFeatureEvaluating,
        name: String = "OpenFeature",
        listen: @escaping @Sendable (_ onChange: @escaping @Sendable () -> Void) -> Void = { _ in }
    ) -> FlagOrigin {
        .provider(OpenFeatureFlags(name: name, client: client, listen: listen))
    }
}
