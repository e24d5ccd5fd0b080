import FeatureFlags

/// Analyzes rules without a context: operators and their arguments, constant results, and the possible types of results.
struct RuleReader {
    /// An operator in the file.
    struct Operation {
        let name: String
        let nameRange: Range<Int>
        let arguments: [JSONNode]
    }

    /// The possible types of a result.
    enum ResultType: String, Hashable, CaseIterable {
        case null, boolean, number, string, array, object
    }

    let document: FlagDocument
    let configuration: FlagConfiguration
    let work: LintWork

    /// The operation of an object with one member; nil for anything else, including a `$ref`.
    func operation(_ node: JSONNode) -> Operation? {
        guard case .object(let members) = node.value, members.count == 1, let member = members.first,
            member.key != "$ref"
        else { return nil }
        let value = resolved(member.value)
        let arguments: [JSONNode] = if case .array(let elements) = value.value { elements } else { [value] }
        return Operation(name: member.key, nameRange: member.keyRange, arguments: arguments)
    }

    /// The name in a `$ref`.
    func reference(_ node: JSONNode) -> (name: String, range: Range<Int>)? {
        guard case .object(let members) = node.value, members.count == 1, let member = members.first,
            member.key == "$ref", case .string(let name) = member.value.value
        else { return nil }
        return (name, member.value.range)
    }

    /// Replaces a `$ref` with its evaluator; returns other nodes unchanged.
    ///
    /// A reference to an evaluator that refers to another one stays: no flag can use it, and following such references would multiply the work.
    func resolved(_ node: JSONNode) -> JSONNode {
        guard let (name, range) = reference(node), let size = document.evaluatorSizes[name],
            let evaluator = document.evaluators[name], work.spend(size, at: range)
        else { return node }
        return evaluator
    }

    /// The question whether another name was meant; empty if there is none, or comparing the names would be too much work.
    func question(_ name: String, among names: some Collection<String>, at range: Range<Int>) -> String {
        guard work.spend(4 * names.count, at: range) else { return "" }
        return NearMiss.question(name, among: names.sorted())
    }

    /// The value of a rule that needs no context; nil if it needs one.
    func constant(_ node: JSONNode) -> FlagValue? {
        switch node.value {
        case .null, .bool, .int, .string: return node.flagValue
        case .double, .array, .object: break
        }
        guard isConstant(resolved(node)) else { return nil }
        return value(of: node)
    }

    /// Evaluates a rule without a context; nil if that is too much work.
    func value(of node: JSONNode) -> FlagValue? {
        guard !work.isSpent else { return nil }
        var steps = 0
        let value = RuleCompiler.value(
            of: node,
            in: document.source,
            configuration,
            evaluators: document.evaluators,
            work: &steps
        )
        return work.spend(steps, at: node.range) ? value : nil
    }

    /// The operators whose result depends only on their arguments.
    private static let pure: Set<String> = [
        "if", "?:", "and", "or", "!", "!!", "==", "!=", "===", "!==", "<", "<=", ">", ">=", "+", "-", "*", "/", "%",
        "min", "max", "cat", "substr", "in", "merge", "sem_ver", "starts_with", "ends_with",
    ]

    private func isConstant(_ node: JSONNode) -> Bool {
        guard work.spend(1, at: node.range) else { return false }
        switch node.value {
        case .null, .bool, .int, .double, .string:
            return true
        case .array(let elements):
            return elements.allSatisfy { isConstant(resolved($0)) }
        case .object(let members):
            guard members.count == 1 else { return true }
            guard let operation = operation(node), Self.pure.contains(operation.name) else { return false }
            return operation.arguments.allSatisfy { isConstant(resolved($0)) }
        }
    }

    /// The path of a `var`; nil if it is computed.
    func variablePath(_ node: JSONNode) -> String? {
        guard let operation = operation(resolved(node)), operation.name == "var" else { return nil }
        guard let first = operation.arguments.first else { return "" }
        guard case .string(let path) = first.value else { return nil }
        return path
    }

    /// The possible types of a rule's result; nil if they are unknown.
    func types(_ node: JSONNode) -> Set<ResultType>? {
        let node = resolved(node)
        switch node.value {
        case .null: return [.null]
        case .bool: return [.boolean]
        case .int, .double: return [.number]
        case .string: return [.string]
        case .array: return [.array]
        case .object(let members):
            guard members.count == 1, let operation = operation(node) else { return [.object] }
            return types(operation, node)
        }
    }

    private func types(_ operation: Operation, _ node: JSONNode) -> Set<ResultType>? {
        switch operation.name {
        case "var":
            switch variablePath(node) {
            case "$flagd.timestamp": return [.number]
            case "$flagd.flagKey": return [.string]
            case "targetingKey": return operation.arguments.count > 1 ? nil : [.string, .null]
            default: return nil
            }
        case "==", "!=", "===", "!==", "<", "<=", ">", ">=", "!", "!!", "in", "all", "some", "none": return [.boolean]
        case "starts_with", "ends_with", "sem_ver": return [.boolean, .null]
        case "+", "-", "*", "/", "%", "min", "max": return [.number, .null]
        case "cat", "substr": return [.string]
        case "merge", "map", "filter", "missing", "missing_some": return [.array]
        default: return nil
        }
    }
}
