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
