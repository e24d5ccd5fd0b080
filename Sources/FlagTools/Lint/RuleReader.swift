import FeatureFlags
import JSONText

/// Analyzes rules without a context: operators and their arguments, constant results, and the possible types of results.
struct RuleReader {
    /// An operator in the file.
    struct Operation {
        let name: String
        let nameRange: Range<Int>
        let arguments: [JSONNode]

        /// Nil for an unknown operator.
        var row: RuleOperator? { OperatorTable.row(name) }
    }

    typealias ResultType = RuleOperator.ValueType

    let document: FlagDocument
    let configuration: FlagConfiguration
    let work: LintWork

    /// The operation of an object with one member; nil for anything else, including a `$ref`.
    func operation(_ node: JSONNode) -> Operation? {
        guard case .operation(let member) = node.ruleForm else { return nil }
        let arguments = resolved(member.value).arguments
        return Operation(name: member.key, nameRange: member.keyRange, arguments: arguments)
    }

    /// Replaces a `$ref` with its evaluator; returns other nodes unchanged.
    ///
    /// A reference to an evaluator that refers to another one stays: no flag can use it, and following such references would multiply the work.
    func resolved(_ node: JSONNode) -> JSONNode {
        guard let (name, range) = node.reference, let size = document.evaluatorSizes[name],
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

    private func isConstant(_ node: JSONNode) -> Bool {
        guard work.spend(1, at: node.range) else { return false }
        switch node.ruleForm {
        case .value: return true
        case .list(let elements): return elements.allSatisfy { isConstant(resolved($0)) }
        case .reference: return false
        case .operation:
            guard let operation = operation(node), operation.row?.isPure == true else { return false }
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
            return operation.name == "var" ? variableTypes(operation, node) : operation.row?.results
        }
    }

    private func variableTypes(_ operation: Operation, _ node: JSONNode) -> Set<ResultType>? {
        switch variablePath(node) {
        case "$flagd.timestamp": [.number]
        case "$flagd.flagKey": [.string]
        case "targetingKey": operation.arguments.count > 1 ? nil : [.string, .null]
        default: nil
        }
    }
}

extension RuleReader {
    /// Whether a condition is always true or never true; nil if it depends on the context.
    func truth(_ node: JSONNode) -> Bool? {
        if let value = constant(node) { return value.isTruthy }
        guard let operation = operation(resolved(node)) else { return nil }
        let arguments = operation.arguments
        switch operation.name {
        case "and":
            let parts = arguments.map { truth($0) }
            if parts.contains(false) || isContradiction(arguments) { return false }
            return !parts.isEmpty && parts.allSatisfy { $0 == true } ? true : nil
        case "or":
            let parts = arguments.map { truth($0) }
            if parts.contains(true) || isTautology(arguments) { return true }
            return parts.allSatisfy { $0 == false } ? false : nil
        case "!": return arguments.first.flatMap { truth($0) }.map { !$0 }
        case "!!": return arguments.first.flatMap { truth($0) }
        case "in": return canContain(arguments) ? nil : false
        case "sem_ver": return canCompareVersions(arguments) ? nil : false
        case "===", "==": return canBeEqual(arguments, isStrict: operation.name == "===") ? nil : false
        case "!==", "!=": return canBeEqual(arguments, isStrict: operation.name == "!==") ? nil : true
        case "<", "<=": return canLieBetween(arguments, orEqual: operation.name == "<=") ? nil : false
        case "cat": return arguments.contains { hasText($0) } ? true : nil
        case "some", "all", "none": return quantified(node, arguments)
        default: return nil
        }
    }

    /// Whether a constant operand makes the text of a `cat` nonempty and so true, whatever its other operands are.
    private func hasText(_ node: JSONNode) -> Bool {
        if case .string(let text)? = constant(node) { !text.isEmpty } else { false }
    }

    /// A constant list decides alone, because the rule for its elements reads nothing else.
    private func quantified(_ node: JSONNode, _ arguments: [JSONNode]) -> Bool? {
        guard let list = arguments.first, constant(list) != nil else { return nil }
        return value(of: node)?.isTruthy
    }

    /// Whether a value can lie between the two limits of a comparison with three arguments.
    private func canLieBetween(_ arguments: [JSONNode], orEqual: Bool) -> Bool {
        guard arguments.count == 3, let lower = constant(arguments[0])?.number,
            let upper = constant(arguments[2])?.number
        else { return true }
        return orEqual ? lower <= upper : lower < upper
    }

    /// Whether `in` can find anything: its list is not empty and contains a value of the right type.
    private func canContain(_ arguments: [JSONNode]) -> Bool {
        guard arguments.count > 1 else { return false }
        guard let haystack = constant(arguments[1]) else { return true }
        switch haystack {
        case .string(let text):
            return !text.isEmpty
        case .list(let elements):
            guard let types = types(arguments[0]) else { return !elements.isEmpty }
            return elements.contains { element in types.contains { $0.rawValue == element.typeName } }
        case .null, .bool, .int, .double, .object:
            return false
        }
    }

    private func canCompareVersions(_ arguments: [JSONNode]) -> Bool {
        guard arguments.count == 3 else { return false }
        for index in [0, 2] {
            if let value = constant(arguments[index]), SemanticVersion(value) == nil { return false }
        }
        guard let comparison = constant(arguments[1]) else { return true }
        return Self.isVersionComparison(comparison)
    }

    static func isVersionComparison(_ value: FlagValue) -> Bool {
        value.stringValue.flatMap { SemanticVersion.Comparison(rawValue: $0) } != nil
    }

    /// Whether the types of two values allow equality. JavaScript's `==` converts strings and booleans to numbers, so only null never equals another
    /// type, and lists and objects never equal each other.
    private func canBeEqual(_ arguments: [JSONNode], isStrict: Bool) -> Bool {
        guard arguments.count > 1, let left = types(arguments[0]), let right = types(arguments[1]) else { return true }
        if !left.isDisjoint(with: right) {
            return !left.intersection(right).isSubset(of: [.array, .object])
        }
        if isStrict { return false }
        let values = left.subtracting([.null]).union(right.subtracting([.null]))
        if left == [.null] || right == [.null] { return false }
        if values.isSubset(of: [.array, .object]) { return false }
        // A number and a constant text that is not numeric.
        for (first, second) in [(arguments[0], arguments[1]), (arguments[1], arguments[0])] {
            let types = types(second)?.subtracting([.null])
            if case .string(let text)? = constant(first), types?.isSubset(of: [.number, .boolean]) == true {
                return JavaScriptNumber(parsing: text) != nil
            }
        }
        return true
    }

    /// Whether conditions that must all be true contradict each other about a variable: it would have to equal two texts, or be a number above one
    /// limit and below another that is not greater.
    private func isContradiction(_ conditions: [JSONNode]) -> Bool {
        var texts: [String: FlagValue] = [:]
        var bounds: [String: (lower: Double, upper: Double)] = [:]
        for condition in conditions {
            guard let operation = operation(resolved(condition)), operation.arguments.count == 2,
                let comparison = comparison(operation)
            else { continue }
            if operation.name == "==" || operation.name == "===", case .string = comparison.value {
                if let known = texts[comparison.path], known != comparison.value,
                    !Self.isNumber(known) || !Self.isNumber(comparison.value)
                {
                    return true
                }
                texts[comparison.path] = comparison.value
            }
            guard let number = comparison.value.doubleValue else { continue }
            var bound = bounds[comparison.path] ?? (-.infinity, .infinity)
            switch comparison.name {
            case "<": bound.upper = min(bound.upper, number.nextDown)
            case "<=": bound.upper = min(bound.upper, number)
            case ">": bound.lower = max(bound.lower, number.nextUp)
            case ">=": bound.lower = max(bound.lower, number)
            default: break
            }
            if bound.lower > bound.upper { return true }
            bounds[comparison.path] = bound
        }
        return false
    }

    /// Whether one of the conditions is true for every value of a variable, because it cannot equal two texts.
    private func isTautology(_ conditions: [JSONNode]) -> Bool {
        var texts: [String: FlagValue] = [:]
        for condition in conditions {
            guard let operation = operation(resolved(condition)), operation.arguments.count == 2,
                operation.name == "!=" || operation.name == "!==", let comparison = comparison(operation),
                case .string = comparison.value
            else { continue }
            if let known = texts[comparison.path], known != comparison.value,
                !Self.isNumber(known) || !Self.isNumber(comparison.value)
            {
                return true
            }
            texts[comparison.path] = comparison.value
        }
        return false
    }

    /// Whether JavaScript's `==` converts a text to a number: several texts can equal one number.
    private static func isNumber(_ value: FlagValue) -> Bool {
        value.stringValue.flatMap { JavaScriptNumber(parsing: $0) } != nil
    }

    /// The path of a variable that is null if the context does not have it.
    private func plainVariablePath(_ node: JSONNode) -> String? {
        guard operation(resolved(node))?.arguments.count == 1 else { return nil }
        return variablePath(node)
    }

    /// A comparison of a variable with a constant, with the variable on the left.
    private func comparison(_ operation: Operation) -> (path: String, name: String, value: FlagValue)? {
        let turned = ["<": ">", "<=": ">=", ">": "<", ">=": "<="]
        if let path = plainVariablePath(operation.arguments[0]), let value = constant(operation.arguments[1]) {
            return (path, operation.name, value)
        }
        if let path = plainVariablePath(operation.arguments[1]), let value = constant(operation.arguments[0]) {
            return (path, turned[operation.name] ?? operation.name, value)
        }
        return nil
    }
}

extension RuleReader {
    /// The normalized bucketing of a `fractional`, which is equal for equivalent forms: evaluators are inlined, a `var` with one path has no
    /// brackets, and a `cat` contains no other `cat`.
    ///
    /// - Parameter node: The first argument; nil if that is already an entry.
    func bucketing(_ node: JSONNode?) -> FlagValue {
        let keys: FlagValue = ["cat": [["var": "$flagd.flagKey"], ["var": "targetingKey"]]]
        // In v3, the two keys are not joined, and no rule can bucket in the same way.
        let standard = configuration.fractional == .v3 ? .null : keys
        guard let node else { return standard }
        let written = normal(node)
        return written == .null ? standard : written
    }

    private func normal(_ node: JSONNode) -> FlagValue {
        let node = resolved(node)
        guard let operation = operation(node) else {
            guard case .array(let elements) = node.value else { return node.flagValue }
            return .list(elements.map { normal($0) })
        }
        var arguments = operation.arguments.map { normal($0) }
        switch operation.name {
        case "var" where arguments.count == 1: return .object([operation.name: arguments[0]])
        case "cat":
            arguments = arguments.flatMap { argument in
                if case .list(let inner)? = argument.objectValue?["cat"] { inner } else { [argument] }
            }
            if arguments.count == 1, arguments[0].objectValue?["var"] == "targetingKey" { return arguments[0] }
        default: break
        }
        return .object([operation.name: .list(arguments)])
    }
}
