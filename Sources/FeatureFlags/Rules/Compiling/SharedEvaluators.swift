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
    /// The rules as they are written, by name.
    let nodes: [String: JSONNode]
    private var compiled: [String: Swift.Result<Evaluator, FlagError>] = [:]

    private let refusesConstantBuckets: Bool

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
