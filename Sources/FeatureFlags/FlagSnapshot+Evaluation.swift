extension FlagSnapshot {
    /// Evaluates a flag whatever the type of its value is.
    public func resolve(_ key: String, context: EvaluationContext = EvaluationContext()) -> Resolution {
        guard let flag = flags[key] else {
            return .failure(.flagNotFound, "there is no flag \(quoted(key)) in \(source)", metadata: metadata)
        }
        return flag.resolve(context, clock: clock)
    }

    /// Evaluates a flag of boolean variants.
    public func boolean(
        _ key: String,
        default defaultValue: Bool,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<Bool> {
        details(key, defaultValue, context, "boolean") { $0.boolValue }
    }

    /// Evaluates a flag of string variants.
    public func string(
        _ key: String,
        default defaultValue: String,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<String> {
        details(key, defaultValue, context, "string") { $0.stringValue }
    }

    /// Evaluates a flag of number variants. A variant that is no whole number, or a floating-point number outside
    /// ±(2^53 - 1), is a `TYPE_MISMATCH`: nothing is rounded.
    public func int(
        _ key: String,
        default defaultValue: Int64,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<Int64> {
        details(key, defaultValue, context, "whole number") { $0.intValue }
    }

    /// Evaluates a flag of number variants. An integer outside ±(2^53 - 1) is a `TYPE_MISMATCH`: nothing is rounded.
    public func double(
        _ key: String,
        default defaultValue: Double,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<Double> {
        details(key, defaultValue, context, "floating-point number") { $0.doubleValue }
    }

    /// Evaluates a flag of object variants.
    public func object(
        _ key: String,
        default defaultValue: [String: FlagValue],
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<[String: FlagValue]> {
        details(key, defaultValue, context, "object") { $0.objectValue }
    }

    private func details<Value: Sendable>(
        _ key: String,
        _ defaultValue: Value,
        _ context: EvaluationContext,
        _ typeName: String,
        _ convert: (FlagValue) -> Value?
    ) -> EvaluationDetails<Value> {
        let resolution = resolve(key, context: context)
        var value = defaultValue
        if let untyped = resolution.value {
            guard let converted = convert(untyped) else {
                return EvaluationDetails(
                    flagKey: key,
                    value: defaultValue,
                    reason: .error,
                    errorCode: .typeMismatch,
                    errorMessage: "the flag's value is of type \(untyped.typeName), and a \(typeName) was asked for",
                    flagMetadata: resolution.flagMetadata
                )
            }
            value = converted
        }
        return EvaluationDetails(
            flagKey: key,
            value: value,
            variant: resolution.variant,
            reason: resolution.reason,
            errorCode: resolution.errorCode,
            errorMessage: resolution.errorMessage,
            flagMetadata: resolution.flagMetadata
        )
    }
}
