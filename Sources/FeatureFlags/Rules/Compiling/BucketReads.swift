/// The variables and texts that make up the first argument of a `fractional`, as written in the file.
struct BucketReads {
    /// The rules that flags share, by name.
    private let evaluators: [String: JSONNode]
    private(set) var operators: Set<String> = []
    /// The paths of the context that `var` reads but the targeting key.
    private(set) var attributes: Set<String> = []
    /// Whether `missing` or its like looks for attributes.
    private(set) var looksForMissing = false
    /// Whether all that is read is a path that stands in the file, and none of them the time or the whole context.
    private(set) var isKnown = true
    /// The texts that the rule may compare the context with.
    private(set) var texts: [String] = []
    /// The values in the rule, and its texts in parts of 64 bytes.
    private var size = 0

    /// Larger rules are not read: the work for a file must stay in proportion to its size.
    private static let maximumSize = 64

    /// nil for a rule that is too large.
    init?(_ node: JSONNode, evaluators: [String: JSONNode]) {
        self.evaluators = evaluators
        visit(node, seesContext: true, inEvaluator: false)
        guard size <= Self.maximumSize else { return nil }
    }

    /// Whether nothing of the context is read but the targeting key.
    var isOfTargetingKeyAlone: Bool { isKnown && attributes.isEmpty && !looksForMissing }

    private mutating func visit(_ node: JSONNode, seesContext: Bool, inEvaluator: Bool) {
        size += 1
        guard size <= Self.maximumSize else { return }
        switch node.value {
        case .null, .bool, .int, .double:
            return
        case .string(let text):
            size += text.utf8.count / 64
            if !text.isEmpty { texts.append(text) }
        case .array(let elements):
            for element in elements { visit(element, seesContext: seesContext, inEvaluator: inEvaluator) }
        case .object(let members):
            guard members.count == 1, let member = members.first else { return }
            guard member.key != "$ref" else {
                visitEvaluator(member.value, seesContext: seesContext, inEvaluator: inEvaluator)
                return
            }
            visit(member, seesContext: seesContext, inEvaluator: inEvaluator)
        }
    }

    /// An evaluator cannot refer to another one.
    private mutating func visitEvaluator(_ name: JSONNode, seesContext: Bool, inEvaluator: Bool) {
        guard !inEvaluator, case .string(let name) = name.value, let rule = evaluators[name] else { return }
        visit(rule, seesContext: seesContext, inEvaluator: true)
    }

    /// A shared list of arguments is visited as one argument, and a path in it is not known then.
    private mutating func visit(_ operation: JSONMember, seesContext: Bool, inEvaluator: Bool) {
        let name = operation.key
        operators.insert(name)
        if seesContext, name.hasPrefix("missing") { looksForMissing = true }
        var arguments: [JSONNode] =
            if case .array(let elements) = operation.value.value { elements } else { [operation.value] }
        if name == "var" {
            read(arguments.first, seesContext)
            if case .string? = arguments.first?.value { arguments.removeFirst() }
        }
        let goesThroughElements = ["map", "filter", "all", "some", "none", "reduce"].contains(name)
        for (index, argument) in arguments.enumerated() {
            // The rule for the elements sees nothing but them.
            let seesElement = goesThroughElements && index == 1
            visit(argument, seesContext: seesContext && !seesElement, inEvaluator: inEvaluator)
        }
    }

    private mutating func read(_ path: JSONNode?, _ seesContext: Bool) {
        guard seesContext else { return }
        guard case .string(let path)? = path?.value, !path.isEmpty else {
            isKnown = false
            return
        }
        if path == "$flagd" || path == "$flagd.timestamp" {
            isKnown = false
        } else if path != "targetingKey", !path.hasPrefix("$flagd.") {
            attributes.insert(path)
        }
    }
}
