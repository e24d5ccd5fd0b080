/// A targeting rule, compiled.
enum Rule: Sendable {
    /// A value that stands in the file.
    case literal(FlagValue)
    /// A list with at least one element that has to be computed.
    case list([Rule])
    /// An operator with its arguments.
    case operation(RuleOperation)

    /// A list of rules; a list of literals is a literal.
    static func listing(_ rules: [Rule]) -> Rule {
        var values: [FlagValue] = []
        for rule in rules {
            guard case .literal(let value) = rule else { return .list(rules) }
            values.append(value)
        }
        return .literal(.list(values))
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        switch self {
        case .literal(let value):
            return value
        case .list(let rules):
            try evaluation.spend(rules.count)
            return .list(try rules.values(&evaluation))
        case .operation(let operation):
            return try operation.evaluate(&evaluation)
        }
    }

    /// The value, with what it costs to read it.
    func readValue(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        let value = try evaluate(&evaluation)
        try evaluation.spend(onReading: value)
        return value
    }
}

extension [Rule] {
    /// The value of the argument at `index`; JsonLogic reads a missing one as null.
    func value(at index: Int, _ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        index < count ? try self[index].evaluate(&evaluation) : .null
    }

    /// The values of the first two, with what it costs to read them.
    func pair(_ evaluation: inout Evaluation) throws(EvaluationFault) -> (FlagValue, FlagValue) {
        let left = try value(at: 0, &evaluation)
        let right = try value(at: 1, &evaluation)
        try evaluation.spend(onReading: left)
        try evaluation.spend(onReading: right)
        return (left, right)
    }

    /// The values of all.
    func values(_ evaluation: inout Evaluation) throws(EvaluationFault) -> [FlagValue] {
        var values: [FlagValue] = []
        values.reserveCapacity(count)
        for rule in self { values.append(try rule.evaluate(&evaluation)) }
        return values
    }
}

/// An operator with its arguments, and the place in the file where it stands.
final class RuleOperation: Sendable {
    let name: String
    let line: Int
    let column: Int
    private let arguments: [Rule]
    private let body: RuleOperator.Body

    init(_ row: RuleOperator, _ call: RuleCall, at location: FlagError.Location) {
        name = row.name
        arguments = call.arguments
        body = row.prepare(call)
        line = location.line ?? 0
        column = location.column ?? 0
    }

    func evaluate(_ evaluation: inout Evaluation) throws(EvaluationFault) -> FlagValue {
        try evaluation.spend(1)
        guard let trace = evaluation.trace else { return try body(arguments, &evaluation) }
        let step = trace.begin(self)
        let value = try body(arguments, &evaluation)
        trace.end(step, value)
        return value
    }
}

/// One evaluation of a rule: what the rule can see, and how much work it may still do.
struct Evaluation: ~Copyable {
    /// What `var` reads.
    enum Frame {
        /// The caller's context, with `$flagd` and `targetingKey` added to it.
        case context
        /// An element that `map`, `filter`, `all`, `some` or `none` looks at, or the data of a rule without a flag.
        case value(FlagValue)
        /// What `reduce` looks at.
        case reduction(current: FlagValue, accumulator: FlagValue)
    }

    let flagKey: String
    let context: EvaluationContext
    var frame: Frame
    let trace: EvaluationTrace?
    private let clock: @Sendable () -> Int64
    private var time: Int64?
    private var remainingWork = FlagLimits.evaluationWork

    init(
        flagKey: String,
        context: EvaluationContext,
        clock: @escaping @Sendable () -> Int64,
        frame: Frame = .context,
        trace: EvaluationTrace? = nil
    ) {
        self.flagKey = flagKey
        self.context = context
        self.clock = clock
        self.frame = frame
        self.trace = trace
    }

    /// The steps that were taken.
    var spentWork: Int { FlagLimits.evaluationWork - remainingWork }

    /// Counts steps of work; one is about what reading an attribute costs.
    @inline(__always)
    mutating func spend(_ steps: Int) throws(EvaluationFault) {
        remainingWork -= steps
        if remainingWork < 0 { throw .tooMuchWork }
    }

    /// Counts what it costs to read a value as a text or a number, before that is done.
    @inline(__always)
    mutating func spend(onReading value: FlagValue) throws(EvaluationFault) {
        switch value {
        case .null, .bool, .int, .double, .object: return
        case .string(let text): try spend(text.utf8.count / 64)
        case .list: try spend(onKeeping: value)
        }
    }

    /// Counts all that stands in a value, and refuses one that is nested too deep to be kept: a rule could make it
    /// deeper with every element that it goes through.
    mutating func spend(onKeeping value: FlagValue, depth: Int = 0) throws(EvaluationFault) {
        guard depth <= FlagLimits.jsonDepth else { throw .tooDeep }
        switch value {
        case .null, .bool, .int, .double:
            break
        case .string(let text):
            try spend(text.utf8.count / 64)
        case .list(let elements):
            try spend(elements.count)
            for element in elements { try spend(onKeeping: element, depth: depth + 1) }
        case .object(let members):
            try spend(members.count)
            for member in members.values { try spend(onKeeping: member, depth: depth + 1) }
        }
    }

    /// The targeting key, also where it was given as an attribute.
    var targetingKey: FlagValue? {
        if let key = context.targetingKey { return .string(key) }
        return context.attributes["targetingKey"]
    }

    /// The clock is asked once, so that one evaluation sees one time.
    private mutating func timestamp() -> FlagValue {
        if let time { return .int(time) }
        let now = clock()
        time = now
        return .int(now)
    }

    /// The value at a path, or nil where there is none. A null that stands there is a value.
    mutating func value(at path: VariablePath) throws(EvaluationFault) -> FlagValue? {
        switch frame {
        case .context:
            return try contextValue(at: path)
        case .value(let value):
            return path.descend(into: value, from: 0)
        case .reduction(let current, let accumulator):
            guard let first = path.components.first else {
                return .object(["current": current, "accumulator": accumulator])
            }
            switch first.name {
            case "current": return path.descend(into: current, from: 1)
            case "accumulator": return path.descend(into: accumulator, from: 1)
            default: return nil
            }
        }
    }

    private mutating func contextValue(at path: VariablePath) throws(EvaluationFault) -> FlagValue? {
        switch path.root {
        case .attribute(let name):
            guard let value = context.attributes[name] else { return nil }
            return path.components.count == 1 ? value : path.descend(into: value, from: 1)
        case .targetingKey:
            guard let key = targetingKey else { return nil }
            return path.descend(into: key, from: 1)
        case .flagKey: return .string(flagKey)
        case .timestamp: return timestamp()
        case .flagd: return path.descend(into: flagd(), from: 1)
        case .everything:
            try spend(context.attributes.count)
            return .object(everything())
        }
    }

    private mutating func flagd() -> FlagValue { .object(["flagKey": .string(flagKey), "timestamp": timestamp()]) }

    private mutating func everything() -> [String: FlagValue] {
        var values = context.attributes
        values["targetingKey"] = targetingKey
        values["$flagd"] = flagd()
        return values
    }

    /// The flag's key and the targeting key as the current frame has them; nil where the latter is not a text, or is
    /// empty: everybody without an id would fall into one bucket. Inside of `map` and its like the element takes the
    /// context's place, as it does in flagd.
    func bucketingKeys() -> (flagKey: String, targetingKey: String)? {
        switch frame {
        case .context:
            if let key = context.targetingKey { return key.isEmpty ? nil : (flagKey, key) }
            guard case .string(let key) = context.attributes["targetingKey"], !key.isEmpty else { return nil }
            return (flagKey, key)
        case .value(let value):
            guard case .object(let members) = value, case .string(let key) = members["targetingKey"], !key.isEmpty
            else {
                return nil
            }
            return (members["$flagd"]?.objectValue?["flagKey"]?.stringValue ?? "", key)
        case .reduction:
            return nil
        }
    }
}

/// Why an evaluation was given up.
enum EvaluationFault: Error {
    /// It took more than ``FlagLimits/evaluationWork`` steps.
    case tooMuchWork
    /// A value of the context stands deeper than ``FlagLimits/jsonDepth``.
    case tooDeep

    var message: String {
        switch self {
        case .tooMuchWork:
            "the targeting took more than \(FlagLimits.evaluationWork) steps; make the rule or the context smaller"
        case .tooDeep:
            "a list of the context stands more than \(FlagLimits.jsonDepth) deep"
        }
    }
}

/// A record of one evaluation, for explaining it to a person. Evaluations without an explanation have none.
package final class EvaluationTrace {
    private(set) var steps: [EvaluationStep] = []
    /// The work that the evaluation was, see ``WorkMeter``.
    var work = 0
    private var depth = 0

    /// Notes that an operator began; returns its place in `steps`.
    func begin(_ operation: RuleOperation) -> Int {
        depth += 1
        guard steps.count < FlagLimits.traceSteps else { return -1 }
        steps.append(
            EvaluationStep(
                operator: operation.name,
                line: operation.line,
                column: operation.column,
                depth: depth - 1,
                result: nil,
                fractional: nil
            )
        )
        return steps.count - 1
    }

    func end(_ step: Int, _ value: FlagValue) {
        depth -= 1
        if step >= 0 { steps[step].result = value }
    }

    /// Adds to the operator that began last, which is `fractional` itself: its arguments have ended.
    func add(_ choice: FractionalChoice) {
        guard let step = steps.lastIndex(where: { $0.operator == "fractional" && $0.result == nil }) else { return }
        steps[step].fractional = choice
    }
}

/// The path of a `var`, taken apart once: `app.version` is the member `version` of the attribute `app`.
package struct VariablePath: Sendable {
    /// The meaning of the path's first name in an evaluation context.
    package enum Root: Sendable {
        /// All of the context: the empty path.
        case everything
        case targetingKey
        /// The object `$flagd`, or an unknown member of it.
        case flagd
        case flagKey
        case timestamp
        case attribute(String)
    }

    /// A name between the dots, which is also an index where it stands below a list.
    package struct Component: Sendable {
        package let name: String
        package let index: Int?

        package init(_ name: Substring) {
            self.name = String(name)
            if let index = Int(name), String(index) == name { self.index = index } else { self.index = nil }
        }
    }

    package let root: Root
    /// All names of the path, from the first on; empty for the empty path.
    package let components: [Component]

    package init(_ text: String) {
        components =
            text.isEmpty ? [] : text.split(separator: ".", omittingEmptySubsequences: false).map(Component.init)
        switch (components.first?.name, components.dropFirst().map(\.name)) {
        case (nil, _): root = .everything
        case ("$flagd", ["flagKey"]): root = .flagKey
        case ("$flagd", ["timestamp"]): root = .timestamp
        case ("$flagd", _): root = .flagd
        case ("targetingKey", _): root = .targetingKey
        case (let first?, _): root = .attribute(first)
        }
    }

    /// The path of a `var` whose argument was computed. JsonLogic takes null for the empty path, and turns anything
    /// else into a text.
    package init(_ argument: FlagValue) {
        if case .null = argument { self.init("") } else { self.init(argument.javaScriptText) }
    }

    /// The value at the names from `first` on.
    package func descend(into value: FlagValue, from first: Int) -> FlagValue? {
        var current = value
        for component in components.dropFirst(first) {
            switch current {
            case .object(let members):
                guard let member = members[component.name] else { return nil }
                current = member
            case .list(let elements):
                guard let index = component.index, elements.indices.contains(index) else { return nil }
                current = elements[index]
            default:
                return nil
            }
        }
        return current
    }
}
