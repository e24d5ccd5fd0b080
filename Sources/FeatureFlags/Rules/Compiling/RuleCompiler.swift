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
        switch node.value {
        case .null, .bool, .int, .double, .string: return
        case .array(let elements):
            for element in elements { try countReferences(in: element) }
        case .object(let members):
            for member in members {
                guard members.count == 1, member.key == "$ref", case .string(let name) = member.value.value else {
                    try countReferences(in: member.value)
                    continue
                }
                guard evaluators.use(name) else {
                    throw error(
                        "the evaluators have more than \(FlagLimits.sharedValues) values, each counted at every \"$ref\" to "
                            + "it; refer to large ones less often",
                        member.value.range
                    )
                }
            }
        }
    }

    private mutating func compile(_ node: JSONNode, depth: Int) throws(FlagError) -> Rule {
        try descend(to: depth, node)
        switch node.value {
        case .array(let elements):
            let rule = Rule.listing(try compile(elements, depth: depth + 1))
            if case .list = rule { try grow(by: 1, node) }
            return rule
        case .object(let members):
            return try compile(members, of: node, depth: depth)
        case .null, .bool, .int, .double, .string:
            return try literal(node)
        }
    }

    private func literal(_ node: JSONNode) throws(FlagError) -> Rule {
        if let number = node.unusableNumber { throw error(JSONNode.unusableNumberMessage, number.range) }
        return .literal(node.flagValue)
    }

    /// An object of one member is an operation. Any other object is data, unless it was meant to be an operation.
    private mutating func compile(
        _ members: [JSONMember],
        of node: JSONNode,
        depth: Int
    ) throws(FlagError) -> Rule {
        guard members.count == 1, let member = members.first else {
            if let name = members.first(where: { OperatorTable.type(named: $0.key) != nil || $0.key == "$ref" })?.key {
                throw error("the operator \(quoted(name)) must be the only member of its object", node.range)
            }
            return try literal(node)
        }
        if member.key == "$ref" { return try evaluator(member, depth: depth).rule }
        guard let type = OperatorTable.type(named: member.key) else {
            throw error("the operator \(quoted(member.key)) is not known; check how it is spelled", member.keyRange)
        }
        try grow(by: 1, node)
        if refusesConstantBuckets, member.key == "fractional" { try refuseConstantBucket(member.value) }
        let call = RuleCall(
            name: member.key,
            arguments: try arguments(member.value, depth: depth + 1),
            fractional: configuration.fractional
        )
        return .operation(RuleOperation(member.key, type.init(call), at: location(member.keyRange)))
    }

    private func refuseConstantBucket(_ node: JSONNode) throws(FlagError) {
        var list = node
        if case .object(let members) = node.value, members.count == 1, let member = members.first, member.key == "$ref",
            case .string(let name) = member.value.value, evaluator == nil, let shared = evaluators.nodes[name]
        {
            list = shared
        }
        let first: JSONNode? = if case .array(let elements) = list.value { elements.first } else { list }
        let bucket = ConstantBucket(source: source, configuration: configuration, evaluators: evaluators.nodes)
        if let first, let message = bucket.certainMessage(about: first) { throw error(message, first.range) }
    }

    /// The arguments of an operator: a list's elements, or a single value without brackets. An evaluator that is
    /// spliced in here may be either.
    private mutating func arguments(_ node: JSONNode, depth: Int) throws(FlagError) -> [Rule] {
        switch node.value {
        case .array(let elements):
            return try compile(elements, depth: depth)
        case .object(let members):
            if members.count == 1, let member = members.first, member.key == "$ref" {
                let shared = try evaluator(member, depth: depth)
                return shared.arguments ?? [shared.rule]
            }
            return [try compile(node, depth: depth)]
        case .null, .bool, .int, .double, .string:
            return [try compile(node, depth: depth)]
        }
    }

    private mutating func compile(_ nodes: [JSONNode], depth: Int) throws(FlagError) -> [Rule] {
        var rules: [Rule] = []
        rules.reserveCapacity(nodes.count)
        for node in nodes { rules.append(try compile(node, depth: depth)) }
        return rules
    }

    /// The rule under `$evaluators` with the name in a `$ref`.
    private mutating func evaluator(
        _ reference: JSONMember,
        depth: Int
    ) throws(FlagError) -> SharedEvaluators.Evaluator {
        guard case .string(let name) = reference.value.value else {
            throw error("a \"$ref\" must be the name of one of the \"$evaluators\"", reference.value.range)
        }
        if let evaluator {
            throw error(
                "the evaluator \(quoted(evaluator)) refers to \(quoted(name)); evaluators cannot refer to each other",
                reference.keyRange
            )
        }
        guard let shared = try evaluators.evaluator(named: name) else {
            throw error("there is no evaluator \(quoted(name)) under \"$evaluators\"", reference.value.range)
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
