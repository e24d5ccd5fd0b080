/// What a rule can see: the caller's context, and what the evaluation adds to it under `$flagd`.
struct EvaluationScope: Sendable {
    let flagKey: String
    let context: EvaluationContext
    /// Seconds since 1970; asked only by rules that read `$flagd.timestamp`.
    let clock: @Sendable () -> Int64

    /// The targeting key, also where it was given as an attribute.
    var targetingKey: FlagValue? {
        if let key = context.targetingKey { return .string(key) }
        return context.attributes["targetingKey"]
    }

    /// The value at a path, or nil where there is none. A null that stands there is a value.
    func value(at path: VariablePath) -> FlagValue? {
        switch path.root {
        case .everything: .object(everything)
        case .targetingKey: targetingKey.flatMap { path.descend(into: $0) }
        case .flagd: path.descend(into: flagd)
        case .flagKey: .string(flagKey)
        case .timestamp: .int(clock())
        case .attribute(let name): context.attributes[name].flatMap { path.descend(into: $0) }
        }
    }

    private var flagd: FlagValue { .object(["flagKey": .string(flagKey), "timestamp": .int(clock())]) }

    private var everything: [String: FlagValue] {
        var values = context.attributes
        values["targetingKey"] = targetingKey
        values["$flagd"] = flagd
        return values
    }
}
