import FeatureFlags

/// The context variables that a rule reads, with their positions, except those in rules for the elements of a list.
struct ContextVariables {
    let reader: RuleReader
    private(set) var reads: [(path: String, range: Range<Int>)] = []

    init(reader: RuleReader) { self.reader = reader }

    mutating func collect(_ node: JSONNode, inEvaluator: Bool = false) {
        switch node.value {
        case .null, .bool, .int, .double, .string:
            break
        case .array(let elements):
            for element in elements { collect(element, inEvaluator: inEvaluator) }
        case .object(let members):
            guard members.count == 1, let member = members.first else { return }
            guard member.key != "$ref" else {
                // An evaluator cannot refer to another one.
                if !inEvaluator, reader.reference(node) != nil { collect(reader.resolved(node), inEvaluator: true) }
                return
            }
            if member.key == "var", let path = reader.variablePath(node) { reads.append((path, member.value.range)) }
            guard case .array(let arguments) = member.value.value,
                ["map", "filter", "all", "some", "none", "reduce"].contains(member.key)
            else {
                collect(member.value, inEvaluator: inEvaluator)
                return
            }
            for (index, argument) in arguments.enumerated() where index != 1 {
                collect(argument, inEvaluator: inEvaluator)
            }
        }
    }

    /// Hints for the variables that the context does not have although it has a similar name.
    func hints(_ context: EvaluationContext) -> [FlagExplanation.Hint] {
        let names = Self.names(of: context)
        var known: Set<String> = []
        return reads.compactMap { read in
            guard known.insert(read.path).inserted, !Self.leads(read.path, context) else { return nil }
            let isFlagd = read.path.hasPrefix("$flagd.")
            let candidates = isFlagd ? ["$flagd.flagKey", "$flagd.timestamp"] : names
            guard let meant = NearMiss.nearest(to: read.path, among: candidates) else { return nil }
            return FlagExplanation.Hint(
                message: "the rule reads \(quoted(read.path)), and the context has \(quoted(meant))",
                location: reader.document.source.location(at: read.range.lowerBound)
            )
        }
    }

    private static func leads(_ path: String, _ context: EvaluationContext) -> Bool {
        let path = VariablePath(path)
        switch path.root {
        case .everything, .flagKey, .timestamp: return true
        case .flagd: return path.components.count == 1
        case .targetingKey: return context.targetingKey != nil || context.attributes["targetingKey"] != nil
        case .attribute: return path.descend(into: .object(context.attributes), from: 0) != nil
        }
    }

    /// The paths of a context's values, as rules write them.
    private static func names(of context: EvaluationContext) -> [String] {
        var names = context.targetingKey == nil ? [] : ["targetingKey"]
        func add(_ members: [String: FlagValue], _ prefix: String) {
            for (name, value) in members.sorted(by: { $0.key < $1.key }) where names.count < maximumNames {
                names.append(prefix + name)
                if case .object(let inner) = value { add(inner, prefix + name + ".") }
            }
        }
        add(context.attributes, "")
        return names
    }

    private static let maximumNames = 1_000
}
