import FeatureFlags
import JSONText

/// Finds changes that would make a cohort skip a stage.
///
/// Users move forward one stage at a time, and back to any stage. A single file does not say where its users are, so only its percentages are
/// checked: raising a percentage moves a user from one entry to another, so the stages in it, together with the default, must be one step apart. With
/// the current version, each cohort that the two files can distinguish is evaluated in both.
struct StageLint {
    let order: StageOrder
    let document: FlagDocument
    let flag: FlagDocument.Flag
    let collector: LintCollector

    func checkPercentages(_ splits: [FractionalSplit]) {
        var defaultStage: Int?
        if case .string(let name)? = flag.node.member("defaultVariant")?.value.value { defaultStage = stage(name) }
        for split in splits {
            let handedOut = split.entries.filter { $0.weight != 0 }
            var stages = Set(handedOut.compactMap { $0.variant.flatMap { stage($0) } })
            if let defaultStage { stages.insert(defaultStage) }
            for entry in handedOut {
                guard let own = entry.variant.flatMap({ stage($0) }),
                    let before = stages.filter({ $0 < own }).max(), own > before + 1
                else { continue }
                collector.add(
                    .stageJump,
                    "a percentage takes users from \(quoted(order.values[before])) to \(quoted(order.values[own])); the "
                        + "next stage is \(quoted(order.values[before + 1]))",
                    at: entry.range
                )
            }
        }
    }

    /// Compares the outcomes of two versions for each cohort.
    func checkChange(from old: CompiledFlag?, to new: CompiledFlag, _ probe: StageProbe) {
        var known: Set<[Int]> = []
        probe.forEach { subject in
            let outcome = subject.evaluate(new)
            guard let to = order.index(of: outcome.value) else { return }
            let from: Int
            if let old {
                // A user with the caller's default was at no stage that the file knows.
                guard let stage = order.index(of: subject.evaluate(old).value) else { return }
                from = stage
            } else {
                from = 0
            }
            guard to > from + 1, known.insert([from, to]).inserted else { return }
            let stages = (quoted(order.values[from]), quoted(order.values[to]), quoted(order.values[from + 1]))
            collector.add(
                .stageJump,
                "the change takes a cohort (\(subject.description)) from \(stages.0) to \(stages.1); the next stage is "
                    + stages.2,
                at: place(of: outcome.variant)
            )
        }
    }

    private func stage(_ variant: String) -> Int? {
        order.index(of: flag.node.member("variants")?.value.member(variant)?.value.flagValue)
    }

    /// The position of the variant in the targeting, or else of the default variant.
    private func place(of variant: String?) -> Range<Int> {
        if let variant, let targeting = flag.node.member("targeting"),
            let range = Self.text(variant, in: targeting.value)
        {
            return range
        }
        return flag.node.member("defaultVariant")?.value.range ?? flag.keyRange
    }

    private static func text(_ text: String, in node: JSONNode) -> Range<Int>? {
        if case .string(text) = node.value { return node.range }
        return node.children.lazy.compactMap { Self.text(text, in: $0) }.first
    }
}

/// A rule of the caller's domain: the values of a flag are stages, which users pass in order.
public struct StageOrder: Sendable, Hashable {
    /// The flag's key.
    public let flagKey: String
    /// The values of the flag's variants, from the first stage to the last.
    public let values: [String]

    /// Defines the stages of a flag.
    public init(flagKey: String, values: [String]) {
        self.flagKey = flagKey
        self.values = values
    }

    /// The position of a value in the order; nil if it is not a stage.
    func index(of value: FlagValue?) -> Int? {
        guard case .string(let text)? = value else { return nil }
        return values.firstIndex { $0.hasSameBytes(as: text) }
    }
}

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
        } else {
            subject.context.set(value, at: path)
        }
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
        if case .list(let elements) = node.ruleForm {
            for element in elements { collect(element, reader) }
        }
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
            return constants.filter { SemanticVersion($0) != nil } + ["0.0.0", "999999.0.0"]
        case "!", "!!", "if", "?:", "and", "or":
            return [true, false]
        default:
            return []
        }
    }
}

/// Finds what an edit removed: a flag that programs read, or a version at least as high as the current one.
struct RemovalLint {
    let old: FlagDocument
    let new: FlagDocument
    /// Whether the caller reads a flag.
    let isRead: (String) -> Bool
    let collector: LintCollector

    func run() {
        let range = new.root.member("flags")?.keyRange ?? new.root.range
        let keys = Set(new.flags.map(\.key))
        for flag in old.flags where !keys.contains(flag.key) && isRead(flag.key) {
            collector.add(
                .removedFlag,
                "the flag \(quoted(flag.key)) of the file in force is gone; everybody now gets the built-in answer",
                at: range
            )
        }
        checkVersion()
    }

    private func checkVersion() {
        guard let before = version(of: old)?.flagValue else { return }
        let text = before.javaScriptText
        guard let now = version(of: new) else {
            let range = new.root.member("metadata")?.keyRange ?? new.root.range
            collector.add(.version, "the file has no version, and the one in force is version \(text)", at: range)
            return
        }
        guard let old = Self.numbers(before), let new = Self.numbers(now.flagValue), new.lexicographicallyPrecedes(old)
        else { return }
        collector.add(
            .version,
            "the version \(now.flagValue.javaScriptText) is lower than that of the file in force, \(text); is this an old copy?",
            at: now.range
        )
    }

    private func version(of document: FlagDocument) -> JSONNode? {
        document.root.member("metadata")?.value.member("version")?.value
    }

    /// `3`, `"2"` and `"v1.10.2"` as numbers; nil for anything else.
    private static func numbers(_ version: FlagValue) -> [Int]? {
        let text = version.javaScriptText
        let parts = (text.hasPrefix("v") ? text.dropFirst() : text[...])
            .split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { Int($0) }
        return numbers.count == parts.count ? numbers : nil
    }
}
