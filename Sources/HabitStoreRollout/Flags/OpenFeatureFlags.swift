import FeatureFlags

/// The rollout's flags from a provider with the interface of OpenFeature.
struct OpenFeatureFlags: RolloutFlagProvider {
    let name: String
    let client: any OpenFeatureEvaluating
    let listen: @Sendable (_ onChange: @escaping @Sendable () -> Void) -> Void

    func watch(_ onChange: @escaping @Sendable () -> Void) { listen(onChange) }

    func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) throws -> Resolution {
        guard type == .boolean else {
            // The default "" is not the name of a stage or an engine.
            return try client.getStringEvaluation(key: key, defaultValue: "", context: context)
                .resolution(default: "") { .string($0) }
        }
        return try client.getBooleanEvaluation(key: key, defaultValue: false, context: context)
            .resolution(default: false) { .bool($0) }
    }
}

extension FlagOrigin {
    /// Flags from a provider with the interface of OpenFeature.
    ///
    /// Each evaluation has the context of one user. A client of the Swift SDK has one context for the whole process, so wrap the SDK's *provider*
    /// instead.
    ///
    /// - Parameters:
    ///   - client: evaluates the flags for a user, within ``RolloutOptions/flagWaitSeconds``.
    ///   - name: its name in notes and in the log.
    ///   - listen: receives a closure to call whenever answers may have changed: on the provider's event `configurationChanged`.
    public static func openFeature(
        _ client: any OpenFeatureEvaluating,
        name: String = "OpenFeature",
        listen: @escaping @Sendable (_ onChange: @escaping @Sendable () -> Void) -> Void = { _ in }
    ) -> FlagOrigin {
        .provider(OpenFeatureFlags(name: name, client: client, listen: listen))
    }
}
