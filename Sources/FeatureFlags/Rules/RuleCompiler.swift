import Foundation
import JSONText

/// Turns a rule's JSON into a ``Rule``, once, when the file is loaded.
package struct RuleCompiler {
    /// A compiled rule and what it takes up of the limits.
    struct Result {
        let rule: Rule
        /// How deep it is.
        let depth: Int
        /// How many operators and computed lists it holds.
        let size: Int
    }

    private let source: SourceText
    private let configuration: FlagConfiguration
    private let evaluators: SharedEvaluators
    /// The evaluator that is compiled; nil for a flag's own rule.
    private let evaluator: String?
    /// Whether a percentage of something that is the same for everybody is an error, as it is in flags. A rule on its own
    /// may have one: it can be evaluated against any data.
    private let refusesConstantBuckets: Bool
    private var size = 0
    private var deepest = 0

    init(
        source: SourceText,
        configuration: FlagConfiguration,
        evaluators: SharedEvaluators,
        evaluator: String? = nil,
        refusesConstantBuckets: Bool = false
    ) {
        self.source = source
        self.configuration = configuration
        self.evaluators = evaluators
        self.evaluator = evaluator
        self.refusesConstantBuckets = refusesConstantBuckets
    }

    mutating func compile(_ node: JSONNode) throws(FlagError) -> Result {
        defer { WorkMeter.current?.add(size) }
        if evaluator == nil { try countReferences(in: node) }
        let rule = try compile(node, depth: 1)
        return Result(rule: rule, depth: deepest, size: size)
    }

    /// Counts the values of each evaluator at each reference to it, before any of them is looked at.
    private func countReferences(in node: JSONNode) throws(FlagError) {
        guard let (name, range) = node.reference else {
            for child in node.children { try countReferences(in: child) }
            return
        }
        guard evaluators.use(name) else {
            throw error(
                "the evaluators have more than \(FlagLimits.sharedValues) values, each counted at every \"$ref\" to "
                    + "it; refer to large ones less often",
                range
            )
        }
    }

    private mutating func compile(_ node: JSONNode, depth: Int) throws(FlagError) -> Rule {
        try descend(to: depth, node)
        try refuseMistake(in: node)
        switch node.ruleForm {
        case .value:
            return try literal(node)
        case .list(let elements):
            let rule = Rule.listing(try compile(elements, depth: depth + 1))
            if case .list = rule { try grow(by: 1, node) }
            return rule
        case .reference(let member):
            guard let shared = try evaluator(member, depth: depth) else { return try literal(node) }
            return shared.rule
        case .operation(let member):
            guard let row = OperatorTable.row(member.key) else { return try literal(node) }
            try grow(by: 1, node)
            if refusesConstantBuckets, member.key == "fractional" { try refuseConstantBucket(member.value) }
            let arguments = try arguments(member.value, depth: depth + 1)
            let call = RuleCall(arguments: arguments, fractional: configuration.fractional)
            return .operation(RuleOperation(row, call, at: location(member.keyRange)))
        }
    }

    private func refuseMistake(in node: JSONNode) throws(FlagError) {
        guard let mistake = RuleMistake(in: node, of: evaluator, evaluators: evaluators.nodes) else { return }
        throw error(mistake.message, mistake.range)
    }

    private func literal(_ node: JSONNode) throws(FlagError) -> Rule {
        if let number = node.unusableNumber { throw error(JSONNode.unusableNumberMessage, number.range) }
        return .literal(node.flagValue)
    }

    private func refuseConstantBucket(_ node: JSONNode) throws(FlagError) {
        let list = evaluator == nil ? node.referred(in: evaluators.nodes) ?? node : node
        let bucket = ConstantBucket(source: source, configuration: configuration, evaluators: evaluators.nodes)
        guard let first = list.arguments.first, let message = bucket.certainMessage(about: first) else { return }
        throw error(message, first.range)
    }

    /// The arguments of an operator. An evaluator that is spliced in here may be a list of them, or one.
    private mutating func arguments(_ node: JSONNode, depth: Int) throws(FlagError) -> [Rule] {
        guard case .reference(let member) = node.ruleForm else { return try compile(node.arguments, depth: depth) }
        try refuseMistake(in: node)
        guard let shared = try evaluator(member, depth: depth) else { return [] }
        return shared.arguments ?? [shared.rule]
    }

    private mutating func compile(_ nodes: [JSONNode], depth: Int) throws(FlagError) -> [Rule] {
        var rules: [Rule] = []
        rules.reserveCapacity(nodes.count)
        for node in nodes { rules.append(try compile(node, depth: depth)) }
        return rules
    }

    /// The rule under `$evaluators` with the name in a `$ref`; nil if there is none.
    private mutating func evaluator(
        _ reference: JSONMember,
        depth: Int
    ) throws(FlagError) -> SharedEvaluators.Evaluator? {
        guard case .string(let name) = reference.value.value, let shared = try evaluators.evaluator(named: name) else {
            return nil
        }
        try grow(by: shared.size, reference.value)
        try descend(to: depth + shared.depth - 1, reference.value)
        return shared
    }

    private mutating func descend(to depth: Int, _ node: JSONNode) throws(FlagError) {
        deepest = max(deepest, depth)
        guard depth <= FlagLimits.ruleDepth else {
            throw error("rules stand more than \(FlagLimits.ruleDepth) deep here; take the rule apart", node.range)
        }
    }

    private mutating func grow(by count: Int, _ node: JSONNode) throws(FlagError) {
        size += count
        guard size <= FlagLimits.ruleSize else {
            throw error("a rule has more than \(FlagLimits.ruleSize) operators; take it apart", node.range)
        }
    }

    private func location(_ range: Range<Int>) -> FlagError.Location { source.location(at: range.lowerBound) }

    private func error(_ message: String, _ range: Range<Int>) -> FlagError {
        FlagError(.parseError, message, at: location(range))
    }
}

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

/// The rules under `$evaluators`, which flags share by `{"$ref": "name"}`. Each is compiled once, when a flag asks for
/// it first; one that is wrong quarantines the flags that ask for it, and no others.
final class SharedEvaluators {
    struct Evaluator {
        let rule: Rule
        /// The elements of an evaluator that is a list, for where it takes the place of an operator's arguments.
        let arguments: [Rule]?
        let depth: Int
        let size: Int
    }

    private let source: SourceText
    private let configuration: FlagConfiguration
    /// The rules as written, by name.
    let nodes: [String: JSONNode]
    private var compiled: [String: Swift.Result<Evaluator, FlagError>] = [:]

    private let refusesConstantBuckets: Bool
    private var valueCounts: [String: Int] = [:]
    private var usedValues = 0

    init(
        source: SourceText,
        configuration: FlagConfiguration,
        nodes: [String: JSONNode],
        refusesConstantBuckets: Bool = false
    ) {
        self.refusesConstantBuckets = refusesConstantBuckets
        self.source = source
        self.configuration = configuration
        self.nodes = nodes
    }

    /// The evaluator, or nil where there is none of this name.
    func evaluator(named name: String) throws(FlagError) -> Evaluator? {
        if let known = compiled[name] { return try known.get() }
        guard let node = nodes[name] else { return nil }
        let result: Swift.Result<Evaluator, FlagError>
        do throws(FlagError) {
            result = .success(try compile(name, node))
        } catch {
            result = .failure(error)
        }
        compiled[name] = result
        return try result.get()
    }

    /// Counts the values of an evaluator where a rule refers to it: however short a `$ref` is, reading it is work for the
    /// whole evaluator. Returns whether the file's rules are still within ``FlagLimits/sharedValues``.
    func use(_ name: String) -> Bool {
        guard let node = nodes[name] else { return true }
        let values = valueCounts[name] ?? node.valueCount
        valueCounts[name] = values
        usedValues += values
        return usedValues <= FlagLimits.sharedValues
    }

    private func compile(_ name: String, _ node: JSONNode) throws(FlagError) -> Evaluator {
        var compiler = RuleCompiler(
            source: source,
            configuration: configuration,
            evaluators: self,
            evaluator: name,
            refusesConstantBuckets: refusesConstantBuckets
        )
        let result = try compiler.compile(node)
        let arguments: [Rule]? =
            switch result.rule {
            case .list(let rules): rules
            case .literal(.list(let values)): values.map { .literal($0) }
            case .literal, .operation: nil
            }
        return Evaluator(rule: result.rule, arguments: arguments, depth: result.depth, size: result.size)
    }
}

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
        let node = try source.json(warnings: &warnings)
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
