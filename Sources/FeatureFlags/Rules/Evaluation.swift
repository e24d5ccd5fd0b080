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
