/// Turns a rule's JSON into a ``Rule``, once, when the file is loaded.
struct RuleCompiler {
    let source: SourceText

    func compile(_ node: JSONNode, depth: Int = 1) throws(FlagError) -> Rule {
        guard depth <= FlagLimits.ruleDepth else {
            throw FlagError(
                .parseError,
                "rules stand more than \(FlagLimits.ruleDepth) deep here; take the rule apart",
                at: source.location(at: node.range.lowerBound)
            )
        }
        switch node.value {
        case .array(let elements): return Rule.listing(try compile(elements, depth: depth + 1))
        case .object(let members): return try compile(members, of: node, depth: depth)
        default: return .literal(node.flagValue)
        }
    }

    /// An object of one member is an operation. Any other object is data, unless it was meant to be an operation.
    private func compile(_ members: [JSONMember], of node: JSONNode, depth: Int) throws(FlagError) -> Rule {
        guard members.count == 1, let member = members.first else {
            if let name = members.first(where: { OperatorTable.type(named: $0.key) != nil })?.key {
                throw FlagError(
                    .parseError,
                    "the operator \(quoted(name)) must be the only member of its object",
                    at: source.location(at: node.range.lowerBound)
                )
            }
            return .literal(node.flagValue)
        }
        guard let type = OperatorTable.type(named: member.key) else {
            throw FlagError(
                .parseError,
                "the operator \(quoted(member.key)) is not known; there are "
                    + OperatorTable.names.joined(separator: " "),
                at: source.location(at: member.keyRange.lowerBound)
            )
        }
        if case .array(let elements) = member.value.value {
            return .operation(type.init(try compile(elements, depth: depth + 1)))
        }
        return .operation(type.init([try compile(member.value, depth: depth + 1)]))
    }

    private func compile(_ nodes: [JSONNode], depth: Int) throws(FlagError) -> [Rule] {
        var rules: [Rule] = []
        rules.reserveCapacity(nodes.count)
        for node in nodes { rules.append(try compile(node, depth: depth)) }
        return rules
    }
}
