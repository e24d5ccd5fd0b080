extension RuleCompiler {
    /// What a rule comes to that needs no context; nil where it cannot be compiled, or comes to nothing.
    static func value(
        of node: JSONNode,
        in source: SourceText,
        _ configuration: FlagConfiguration,
        evaluators: [String: JSONNode]
    ) -> FlagValue? {
        let shared = SharedEvaluators(source: source, configuration: configuration, nodes: evaluators)
        var compiler = RuleCompiler(source: source, configuration: configuration, evaluators: shared)
        do throws(FlagError) {
            let rule = try compiler.compile(node).rule
            var evaluation = Evaluation(flagKey: "", context: EvaluationContext(), clock: { 0 })
            do throws(EvaluationFault) { return try rule.evaluate(&evaluation) } catch { return nil }
        } catch {
            return nil
        }
    }
}
