extension RuleCompiler {
    /// The value of a rule that needs no context; nil if it cannot be compiled or has no value.
    ///
    /// - Parameter work: The steps of the evaluation are added to it.
    package static func value(
        of node: JSONNode,
        in source: SourceText,
        _ configuration: FlagConfiguration,
        evaluators: [String: JSONNode],
        work: inout Int
    ) -> FlagValue? {
        guard let rule = rule(of: node, in: source, configuration, evaluators: evaluators) else { return nil }
        var evaluation = Evaluation(flagKey: "", context: EvaluationContext(), clock: { 0 })
        defer { work += evaluation.spentWork }
        do throws(EvaluationFault) { return try rule.evaluate(&evaluation) } catch { return nil }
    }

    /// A rule of a file, compiled alone; nil if it cannot be compiled.
    static func rule(
        of node: JSONNode,
        in source: SourceText,
        _ configuration: FlagConfiguration,
        evaluators: [String: JSONNode]
    ) -> Rule? {
        let shared = SharedEvaluators(source: source, configuration: configuration, nodes: evaluators)
        var compiler = RuleCompiler(source: source, configuration: configuration, evaluators: shared)
        do throws(FlagError) { return try compiler.compile(node).rule } catch { return nil }
    }
}
