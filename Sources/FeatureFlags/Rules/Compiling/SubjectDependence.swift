/// Whether the result of a rule can differ from one subject to another: whether it reads anything of the context but
/// what an evaluation adds to it itself, `$flagd.flagKey` and `$flagd.timestamp`.
struct SubjectDependence {
    /// The rules that flags share, by name.
    let evaluators: [String: JSONNode]
    /// The value of a rule that reads nothing of the context; nil if it is unknown.
    let constant: (JSONNode) -> FlagValue?

    /// What `var` reads.
    private enum Frame {
        case context
        /// Elements of a list, which depends on the subject or does not.
        case element(Bool)
    }

    /// Whether the result of a rule can differ. Where only running the rule could tell, the answer is yes.
    func holds(for node: JSONNode) -> Bool { depends(node, .context, inEvaluator: false) }

    private func depends(_ node: JSONNode, _ frame: Frame, inEvaluator: Bool) -> Bool {
        switch node.value {
        case .null, .bool, .int, .double, .string:
            return false
        case .array(let elements):
            return elements.contains { depends($0, frame, inEvaluator: inEvaluator) }
        case .object(let members):
            guard members.count == 1, let member = members.first else { return false }
            guard member.key != "$ref" else {
                // An evaluator cannot refer to another one, and a rule in which one does is refused.
                guard !inEvaluator, case .string(let name) = member.value.value, let rule = evaluators[name] else {
                    return false
                }
                return depends(rule, frame, inEvaluator: true)
            }
            let (value, isShared) = resolved(member.value, inEvaluator)
            let arguments: [JSONNode] = if case .array(let elements) = value.value { elements } else { [value] }
            return depends(member.key, arguments, frame, inEvaluator: inEvaluator || isShared)
        }
    }

    private func depends(_ name: String, _ arguments: [JSONNode], _ frame: Frame, inEvaluator: Bool) -> Bool {
        func reads(_ index: Int) -> Bool {
            index < arguments.count && depends(arguments[index], frame, inEvaluator: inEvaluator)
        }
        switch name {
        case "var":
            return readsVariable(arguments.first, frame) || reads(1)
        case "missing", "missing_some":
            if case .element(let isDependent) = frame { return isDependent }
            return true
        case "map", "filter", "all", "some", "none", "reduce":
            // The rule for the elements sees nothing but them, and what `reduce` begins with.
            return reads(0) || (name == "reduce" && reads(2))
        case "if", "?:":
            return branchesDepend(arguments) { depends($0, frame, inEvaluator: inEvaluator) }
        case "and", "or":
            return operandsDepend(name, arguments) { depends($0, frame, inEvaluator: inEvaluator) }
        case "fractional":
            if arguments.contains(where: { depends($0, frame, inEvaluator: inEvaluator) }) { return true }
            guard let first = arguments.first, isEntry(first, inEvaluator) || constant(first) == .null else {
                return false
            }
            // The flag's key and the targeting key decide.
            if case .element(let isDependent) = frame { return isDependent }
            return true
        default:
            return arguments.contains { depends($0, frame, inEvaluator: inEvaluator) }
        }
    }

    private func readsVariable(_ path: JSONNode?, _ frame: Frame) -> Bool {
        if case .element(let isDependent) = frame { return isDependent }
        // A path that is computed may lead anywhere.
        guard case .string(let text)? = path?.value else { return true }
        return text != "$flagd" && !text.hasPrefix("$flagd.")
    }

    /// Of branches, those count that a condition without a context does not rule out.
    private func branchesDepend(_ arguments: [JSONNode], _ depends: (JSONNode) -> Bool) -> Bool {
        var possible: [JSONNode] = []
        var isDecidedBySubject = false
        var isDecided = false
        for index in stride(from: 0, to: arguments.count - 1, by: 2) where !isDecided {
            if depends(arguments[index]) {
                isDecidedBySubject = true
            } else if let value = decision(arguments[index]) {
                guard value.isTruthy else { continue }
                isDecided = true
            }
            possible.append(arguments[index + 1])
        }
        if !isDecided, arguments.count % 2 == 1, let last = arguments.last { possible.append(last) }
        if possible.contains(where: depends) { return true }
        guard isDecidedBySubject else { return false }
        // Without an else branch the result can be null too.
        let hasOther = !isDecided && arguments.count % 2 == 0
        return hasOther || Set(possible.map(\.flagValue)).count > 1
    }

    /// Operands are asked up to the first that decides.
    private func operandsDepend(_ name: String, _ operands: [JSONNode], _ depends: (JSONNode) -> Bool) -> Bool {
        for operand in operands {
            if depends(operand) { return true }
            if let value = decision(operand), value.isTruthy == (name == "or") { return false }
        }
        return false
    }

    /// The value of a condition for every flag at all times; nil if it is unknown.
    private func decision(_ condition: JSONNode) -> FlagValue? {
        namesFlagd(condition, inEvaluator: false) ? nil : constant(condition)
    }

    private func namesFlagd(_ node: JSONNode, inEvaluator: Bool) -> Bool {
        switch node.value {
        case .null, .bool, .int, .double:
            return false
        case .string(let text):
            return text.hasPrefix("$flagd")
        case .array(let elements):
            return elements.contains { namesFlagd($0, inEvaluator: inEvaluator) }
        case .object(let members):
            let (rule, isShared) = resolved(node, inEvaluator)
            if isShared { return namesFlagd(rule, inEvaluator: true) }
            return members.contains { namesFlagd($0.value, inEvaluator: inEvaluator) }
        }
    }

    private func isEntry(_ node: JSONNode, _ inEvaluator: Bool) -> Bool {
        if case .array = resolved(node, inEvaluator).node.value { true } else { false }
    }

    private func resolved(_ node: JSONNode, _ inEvaluator: Bool) -> (node: JSONNode, isShared: Bool) {
        guard !inEvaluator, case .object(let members) = node.value, members.count == 1, let member = members.first,
            member.key == "$ref", case .string(let name) = member.value.value, let rule = evaluators[name]
        else { return (node, false) }
        return (rule, true)
    }
}
