/// Whom and what a flag is evaluated for.
public struct EvaluationContext: Sendable, Equatable {
    /// The subject, such as a user's id. Rules read it as `{"var": "targetingKey"}`, and percentages depend on it.
    public var targetingKey: String?
    /// Further facts by name. Rules read `{"var": "app.platform"}` as the member `platform` of the attribute `app`.
    ///
    /// The name `$flagd` belongs to the evaluation and hides an attribute of that name; the attribute `targetingKey`
    /// is used only where ``targetingKey`` is nil.
    public var attributes: [String: FlagValue]

    /// Makes a context.
    public init(targetingKey: String? = nil, attributes: [String: FlagValue] = [:]) {
        self.targetingKey = targetingKey
        self.attributes = attributes
    }
}
