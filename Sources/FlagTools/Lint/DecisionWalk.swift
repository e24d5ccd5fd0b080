import FeatureFlags

/// Finds the branches that were taken, from the results of the operators.
struct DecisionWalk {
    let reader: RuleReader
    private var results: [FlagError.Location: FlagValue] = [:]
    private var choices: [FlagError.Location: FractionalChoice] = [:]
    private(set) var decisions: [FlagExplanation.Decision] = []

    init(reader: RuleReader, steps: [EvaluationStep]) {
        self.reader = reader
        for step in steps {
            let location = FlagError.Location(line: step.line, column: step.column)
            if let result = step.result { results[location] = result }
            if let choice = step.fractional { choices[location] = choice }
        }
    }

    /// Follows the rule from a node.
    mutating func follow(_ node: JSONNode) {
        let node = reader.resolved(node)
        guard let operation = reader.operation(node) else { return }
        let place = reader.document.source.location(at: operation.nameRange.lowerBound)
        switch operation.name {
        case "if", "?:":
            followBranches(operation, place)
        case "fractional":
            guard let choice = choices[key(place)] else {
                add("\"fractional\" had nothing to choose by, and gave null", place)
                return
            }
            let entries = choice.entries.count
            guard let chosen = choice.chosen else { return }
            let skipped = operation.arguments.count - entries
            let index = chosen + max(0, skipped)
            let entry = index < operation.arguments.count ? operation.arguments[index].range.lowerBound : nil
            add(
                "entry \(chosen + 1) of \(entries) of \"fractional\"",
                entry.map { reader.document.source.location(at: $0) } ?? place
            )
        default:
            add("the result of \(quoted(operation.name))", place)
        }
    }

    private mutating func followBranches(_ operation: RuleReader.Operation, _ place: FlagError.Location) {
        let arguments = operation.arguments
        for index in stride(from: 0, to: arguments.count - 1, by: 2) {
            guard let value = value(of: arguments[index]) else { return }
            guard value.isTruthy else { continue }
            take(arguments[index + 1], "branch \(index / 2 + 1)", place)
            return
        }
        guard arguments.count % 2 == 1, let last = arguments.last else {
            add("no branch of the \"if\" in line \(place.line ?? 0)", place)
            return
        }
        take(last, "the else branch", place)
    }

    private mutating func take(_ node: JSONNode, _ name: String, _ place: FlagError.Location) {
        let location = reader.document.source.location(at: node.range.lowerBound)
        add("\(name) of the \"if\" in line \(place.line ?? 0)", location)
        follow(node)
    }

    private func value(of node: JSONNode) -> FlagValue? {
        if let constant = reader.constant(node) { return constant }
        guard let operation = reader.operation(reader.resolved(node)) else { return nil }
        return results[key(reader.document.source.location(at: operation.nameRange.lowerBound))]
    }

    private func key(_ location: FlagError.Location) -> FlagError.Location {
        FlagError.Location(line: location.line, column: location.column)
    }

    private mutating func add(_ summary: String, _ location: FlagError.Location) {
        decisions.append(FlagExplanation.Decision(summary: summary, location: location))
    }
}
