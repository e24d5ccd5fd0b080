import FeatureFlags

/// Subjects that a flag's rules can distinguish, built from the constants in the rules.
///
/// For each variable in a comparison, it tries the constants and neighbouring values; for percentages, arbitrary targeting keys. The number of
/// subjects is limited, so a cohort of less than a thousandth of the users may be missing.
struct StageProbe {
    /// A context and a time for which a flag can be evaluated.
    struct Subject {
        fileprivate(set) var context: EvaluationContext
        fileprivate(set) var time: Int64
        /// The chosen values, for messages.
        fileprivate(set) var description: String

        fileprivate let work: LintWork

        func evaluate(_ flag: CompiledFlag) -> Resolution {
            let time = time
            let (resolution, steps) = flag.measured(context, clock: { time })
            _ = work.spend(steps, at: 0..<0)
            return resolution
        }
    }

    private static let maximumValues = 24
    private static let maximumCombinations = 512
    /// Counting combinations stops here; this number times the values of one variable still fits into an `Int`.
    private static let countedCombinations = 1 << 50
    private static let maximumSubjects = 40_000
    private static let sampledKeys = 4_000

    private let now: Int64
    private let work: LintWork
    private var candidates: [String: [FlagValue]] = [:]
    private var hasPercentages = false
    /// The variables that percentages bucket by.
    private var bucketingPaths: Set<String> = []

    /// - Parameters:
    ///   - readers: The versions of the file.
    ///   - work: Limits the evaluations.
    init(readers: [RuleReader], flagKeys: [String], now: Int64, work: LintWork) {
        self.now = now
        self.work = work
        for reader in readers {
            for key in flagKeys {
                if let targeting = reader.document.flag(key)?.node.member("targeting") {
                    collect(targeting.value, reader)
                }
            }
        }
    }

    func forEach(_ body: (Subject) -> Void) {
        let paths = candidates.keys.filter { $0 != "targetingKey" }.sorted()
        let choices = paths.map { [Optional<FlagValue>.none] + (candidates[$0] ?? []).map { Optional.some($0) } }
        var combinations = 1
        for choice in choices { combinations = min(Self.countedCombinations, combinations * choice.count) }
        let tried = min(combinations, Self.maximumCombinations)
        let named = (candidates["targetingKey"] ?? []).compactMap { $0.stringValue }
        let sampled = hasPercentages ? max(8, min(Self.sampledKeys, Self.maximumSubjects / tried - named.count)) : 1
        for number in 0..<tried where !work.isSpent {
            var rest = Self.combination(number, of: combinations, tried: tried)
            var base = Subject(context: EvaluationContext(), time: now, description: "", work: work)
            var parts: [String] = []
            for (path, choice) in zip(paths, choices) {
                defer { rest /= choice.count }
                guard let value = choice[rest % choice.count] else { continue }
                parts.append("\(path) \(Self.text(value))")
                Self.set(value, at: path, &base)
            }
            for key in named where !work.isSpent { body(base.named(key, parts, isSampled: false)) }
            let free = bucketingPaths.filter { path in !parts.contains { $0.hasPrefix(path + " ") } }.sorted()
            for index in 0..<sampled where !work.isSpent {
                var subject = base.named("sample-\(index)", parts, isSampled: true)
                for path in free { Self.set(.string("sample-\(index)"), at: path, &subject) }
                body(subject)
            }
        }
    }

    /// If there are too many combinations, multiples of the golden ratio spread the tried ones over all: with equal steps, a variable might always
    /// get the same value.
    private static func combination(_ number: Int, of combinations: Int, tried: Int) -> Int {
        guard combinations > tried else { return number }
        let fraction = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
        return Int(fraction.multipliedFullWidth(by: UInt64(combinations)).high)
    }

    private static func set(_ value: FlagValue, at path: String, _ subject: inout Subject) {
        if path == "$flagd.timestamp" {
            if case .int(let time) = value { subject.time = time }
            return
        }
        let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let current = FlagValue.object(subject.context.attributes)
        subject.context.attributes = setting(value, at: names[...], in: current).objectValue ?? [:]
    }

    private static func setting(_ value: FlagValue, at names: ArraySlice<String>, in target: FlagValue?) -> FlagValue {
        guard let name = names.first else { return value }
        var members = target?.objectValue ?? [:]
        members[name] = setting(value, at: names.dropFirst(), in: members[name])
        return .object(members)
    }

    private static func text(_ value: FlagValue) -> String {
        if case .string(let text) = value { quoted(text) } else { value.javaScriptText }
    }
}

extension StageProbe.Subject {
    fileprivate func named(_ key: String, _ parts: [String], isSampled: Bool) -> Self {
        var subject = self
        subject.context.targetingKey = key
        let who = isSampled ? [] : ["targetingKey " + quoted(key)]
        let all = who + parts
        subject.description = all.isEmpty ? "anybody" : all.joined(separator: ", ")
        return subject
    }
}

extension StageProbe {
    private mutating func collect(_ node: JSONNode, _ reader: RuleReader) {
        let node = reader.resolved(node)
        switch node.value {
        case .null, .bool, .int, .double, .string:
            return
        case .array(let elements):
            for element in elements { collect(element, reader) }
        case .object:
            guard let operation = reader.operation(node) else { return }
            if operation.name == "fractional" {
                hasPercentages = true
                if let first = operation.arguments.first { collectBucketing(first, reader) }
            }
            for argument in operation.arguments {
                if let path = reader.variablePath(argument), !path.isEmpty {
                    for value in Self.values(operation, reader) { add(value, at: path) }
                }
                collect(argument, reader)
            }
        }
    }

    private mutating func collectBucketing(_ node: JSONNode, _ reader: RuleReader) {
        if let path = reader.variablePath(node) {
            if !path.isEmpty, path != "targetingKey", !path.hasPrefix("$flagd") { bucketingPaths.insert(path) }
            return
        }
        guard let operation = reader.operation(reader.resolved(node)) else { return }
        for argument in operation.arguments { collectBucketing(argument, reader) }
    }

    private mutating func add(_ value: FlagValue, at path: String) {
        if path == "$flagd.timestamp", value.intValue == nil { return }
        var values = candidates[path] ?? []
        guard values.count < Self.maximumValues, !values.contains(value) else { return }
        values.append(value)
        candidates[path] = values
    }

    /// Values of a variable that make an operator true, and values that make it false.
    private static func values(_ operation: RuleReader.Operation, _ reader: RuleReader) -> [FlagValue] {
        let constants = operation.arguments.compactMap { reader.constant($0) }
        switch operation.name {
        case "==", "!=", "===", "!==", "<", "<=", ">", ">=":
            return constants.flatMap { value -> [FlagValue] in
                guard let number = value.intValue else { return [value] }
                return [value, .int(number &- 1), .int(number &+ 1)]
            }
        case "in":
            return constants.flatMap { value -> [FlagValue] in
                if case .list(let elements) = value { elements } else { [value] }
            }
        case "starts_with":
            return constants.compactMap { $0.stringValue.map { .string($0 + "x") } }
        case "ends_with":
            return constants.compactMap { $0.stringValue.map { .string("x" + $0) } }
        case "sem_ver":
            return constants.filter { RuleReader.isVersion($0) } + ["0.0.0", "999999.0.0"]
        case "!", "!!", "if", "?:", "and", "or":
            return [true, false]
        default:
            return []
        }
    }
}
