/// Adapts a flag file or any other evaluator to the `FeatureProvider` interface of OpenFeature's SDK for Swift.
///
/// ```swift
/// let provider = OpenFeatureProvider(try FlagProvider(sources: [FlagSource(path: "flags.json")]))
/// let evaluation = provider.getBooleanEvaluation(
///     key: "new-welcome", defaultValue: false, context: EvaluationContext(targetingKey: "alice"))
/// ```
///
/// This package does not depend on the SDK; <doc:OpenFeature> has the code with which an app registers the provider. Nothing is
/// thrown: an error is the caller's default with an ``OpenFeatureEvaluation/errorCode``.
public struct OpenFeatureProvider: OpenFeatureEvaluating {
    private let evaluator: any FlagEvaluator

    /// Wraps an evaluator.
    public init(_ evaluator: any FlagEvaluator) { self.evaluator = evaluator }

    /// Evaluates a flag of boolean variants.
    public func getBooleanEvaluation(
        key: String,
        defaultValue: Bool,
        context: EvaluationContext?
    ) -> OpenFeatureEvaluation<Bool> {
        OpenFeatureEvaluation(evaluator.boolean(key, default: defaultValue, context: context ?? EvaluationContext()))
    }

    /// Evaluates a flag of string variants.
    public func getStringEvaluation(
        key: String,
        defaultValue: String,
        context: EvaluationContext?
    ) -> OpenFeatureEvaluation<String> {
        OpenFeatureEvaluation(evaluator.string(key, default: defaultValue, context: context ?? EvaluationContext()))
    }

    /// Evaluates a flag of number variants; nothing is rounded.
    public func getIntegerEvaluation(
        key: String,
        defaultValue: Int64,
        context: EvaluationContext?
    ) -> OpenFeatureEvaluation<Int64> {
        OpenFeatureEvaluation(evaluator.int(key, default: defaultValue, context: context ?? EvaluationContext()))
    }

    /// Evaluates a flag of number variants; nothing is rounded.
    public func getDoubleEvaluation(
        key: String,
        defaultValue: Double,
        context: EvaluationContext?
    ) -> OpenFeatureEvaluation<Double> {
        OpenFeatureEvaluation(evaluator.double(key, default: defaultValue, context: context ?? EvaluationContext()))
    }

    /// Evaluates a flag of object variants.
    public func getObjectEvaluation(
        key: String,
        defaultValue: FlagValue,
        context: EvaluationContext?
    ) -> OpenFeatureEvaluation<FlagValue> {
        let resolution = evaluator.resolve(key, as: .object, context: context ?? EvaluationContext())
        return OpenFeatureEvaluation(
            EvaluationDetails(flagKey: key, value: resolution.value ?? defaultValue, resolution: resolution)
        )
    }
}
