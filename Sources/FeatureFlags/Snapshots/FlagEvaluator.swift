/// Something that evaluates flags: a snapshot, or a provider whose flags follow their files.
///
/// The requirements and results are OpenFeature's, so that a provider of an OpenFeature SDK needs no more than to hand
/// its calls on.
public protocol FlagEvaluator: Sendable {
    /// Evaluates a flag whatever the type of its value is.
    func resolve(_ key: String, context: EvaluationContext) -> Resolution

    /// Evaluates a flag whose value must have one type; another type is a `TYPE_MISMATCH`.
    func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) -> Resolution
}

extension FlagEvaluator {
    /// Evaluates a flag with an empty context.
    public func resolve(_ key: String) -> Resolution { resolve(key, context: EvaluationContext()) }

    /// Evaluates a flag whose value must have one type; another type is a `TYPE_MISMATCH`.
    public func resolve(_ key: String, as type: FlagValueType, context: EvaluationContext) -> Resolution {
        resolve(key, context: context).checked(type)
    }

    /// Evaluates a flag of boolean variants.
    public func boolean(
        _ key: String,
        default defaultValue: Bool,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<Bool> {
        EvaluationDetails(key, defaultValue, resolve(key, as: .boolean, context: context)) { $0.boolValue }
    }

    /// Evaluates a flag of string variants.
    public func string(
        _ key: String,
        default defaultValue: String,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<String> {
        EvaluationDetails(key, defaultValue, resolve(key, as: .string, context: context)) { $0.stringValue }
    }

    /// Evaluates a flag of number variants. A variant that is not an integer, or a floating-point number outside ±(2^53 - 1), is a
    /// `TYPE_MISMATCH`: values are not rounded.
    public func int(
        _ key: String,
        default defaultValue: Int64,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<Int64> {
        EvaluationDetails(key, defaultValue, resolve(key, as: .int, context: context)) { $0.intValue }
    }

    /// Evaluates a flag of number variants. An integer outside ±(2^53 - 1) is a `TYPE_MISMATCH`: nothing is rounded.
    public func double(
        _ key: String,
        default defaultValue: Double,
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<Double> {
        EvaluationDetails(key, defaultValue, resolve(key, as: .double, context: context)) { $0.doubleValue }
    }

    /// Evaluates a flag of object variants.
    public func object(
        _ key: String,
        default defaultValue: [String: FlagValue],
        context: EvaluationContext = EvaluationContext()
    ) -> EvaluationDetails<[String: FlagValue]> {
        EvaluationDetails(key, defaultValue, resolve(key, as: .object, context: context)) { $0.objectValue }
    }
}

extension EvaluationDetails {
    fileprivate init(
        _ key: String,
        _ defaultValue: Value,
        _ resolution: Resolution,
        _ convert: (FlagValue) -> Value?
    ) {
        self.init(flagKey: key, value: resolution.value.flatMap(convert) ?? defaultValue, resolution: resolution)
    }
}
