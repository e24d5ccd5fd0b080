import Foundation

/// A standalone JsonLogic rule: compiled once, evaluated against any data.
///
/// A flag's `targeting` consists of such rules, with all operators of jsonlogic.com and flagd's. Cases not defined there behave as in
/// json-logic-js, except that numbers written as integers are exact.
public struct JsonLogicRule: Sendable {
    private let rule: Rule
    private let clock: @Sendable () -> Int64

    /// Compiles a rule.
    ///
    /// - Parameters:
    ///   - json: The rule, in UTF-8.
    ///   - configuration: How to evaluate it.
    /// - Throws: A ``FlagError`` with line and column for invalid JSON, an unknown operator, and a rule beyond the limits.
    public init(json: Data, configuration: FlagConfiguration = FlagConfiguration()) throws(FlagError) {
        let source = try SourceText(bytes: Array(json), name: "rule")
        var warnings = FlagWarningList()
        let node = try JSONParser.parse(source, warnings: &warnings)
        let evaluators = SharedEvaluators(source: source, configuration: configuration, nodes: [:])
        var compiler = RuleCompiler(source: source, configuration: configuration, evaluators: evaluators)
        rule = try compiler.compile(node).rule
        clock = configuration.clock
    }

    /// The rule's value for the data, which `{"var": ""}` reads.
    ///
    /// - Throws: A ``FlagError`` with the code `GENERAL` if it takes more than ``FlagLimits/evaluationWork`` steps.
    public func evaluate(_ data: FlagValue) throws(FlagError) -> FlagValue {
        var evaluation = Evaluation(flagKey: "", context: EvaluationContext(), clock: clock, frame: .value(data))
        return try Self.result(rule, &evaluation)
    }

    /// The rule's value in the evaluation context of a flag.
    ///
    /// - Throws: The errors of ``evaluate(_:)``.
    public func evaluate(flagKey: String, context: EvaluationContext) throws(FlagError) -> FlagValue {
        var evaluation = Evaluation(flagKey: flagKey, context: context, clock: clock)
        return try Self.result(rule, &evaluation)
    }

    /// How many steps the rule takes for the data, and in the evaluation context of a flag.
    package func work(flagKey: String, context: EvaluationContext) -> Int {
        var steps = 0
        for frame in [Evaluation.Frame.context, .value(.object(context.attributes))] {
            var evaluation = Evaluation(flagKey: flagKey, context: context, clock: clock, frame: frame)
            do throws(EvaluationFault) { _ = try rule.evaluate(&evaluation) } catch { steps += 1 }
            steps += evaluation.spentWork
        }
        return steps
    }

    private static func result(_ rule: Rule, _ evaluation: inout Evaluation) throws(FlagError) -> FlagValue {
        do throws(EvaluationFault) {
            return try rule.evaluate(&evaluation)
        } catch {
            throw FlagError(.general, error.message)
        }
    }
}
