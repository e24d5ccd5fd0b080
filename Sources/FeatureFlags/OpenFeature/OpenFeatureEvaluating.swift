/// What evaluates flags by the interface of a `FeatureProvider` in OpenFeature's SDK for Swift: ``OpenFeatureProvider``, or a provider
/// of the SDK's by way of a few lines, see <doc:OpenFeature>.
public protocol OpenFeatureEvaluating: Sendable {
    /// Evaluates a flag of boolean variants.
    func getBooleanEvaluation(
        key: String,
        defaultValue: Bool,
        context: EvaluationContext?
    ) throws -> OpenFeatureEvaluation<Bool>

    /// Evaluates a flag of string variants.
    func getStringEvaluation(
        key: String,
        defaultValue: String,
        context: EvaluationContext?
    ) throws -> OpenFeatureEvaluation<String>

    /// Evaluates a flag of whole numbers.
    func getIntegerEvaluation(
        key: String,
        defaultValue: Int64,
        context: EvaluationContext?
    ) throws -> OpenFeatureEvaluation<Int64>

    /// Evaluates a flag of floating-point numbers.
    func getDoubleEvaluation(
        key: String,
        defaultValue: Double,
        context: EvaluationContext?
    ) throws -> OpenFeatureEvaluation<Double>

    /// Evaluates a flag of object variants.
    func getObjectEvaluation(
        key: String,
        defaultValue: FlagValue,
        context: EvaluationContext?
    ) throws -> OpenFeatureEvaluation<FlagValue>
}
