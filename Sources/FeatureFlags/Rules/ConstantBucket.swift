import JSONText

/// A percentage of something that is the same for all users, such as `"targetingKey"` without its `var`: all users fall into one bucket, and changed
/// weights move all of them together. Values that depend on the user and yet distinguish hardly any are found by evaluation, see
/// ``BucketSampling``.
///
/// The first argument of `fractional` is the bucketing value, unless it is a list, which is then an entry, or evaluates to null, for which the
/// flag's key and the targeting key are used.
package struct ConstantBucket {
    private let source: SourceText
    private let configuration: FlagConfiguration
    private let evaluators: [String: JSONNode]

    package init(source: SourceText, configuration: FlagConfiguration, evaluators: [String: JSONNode]) {
        self.source = source
        self.configuration = configuration
        self.evaluators = evaluators
    }

    /// The message about the first argument of a `fractional`; nil if it distinguishes users, or if that is unknown.
    package func message(about first: JSONNode) -> String? {
        guard isOfSubject(first) else { return constantMessage(about: first) }
        guard let outcome = sampling(of: first)?.fewBuckets() else { return nil }
        return outcome.values == 1 ? Self.message(aboutOneBucketOf: outcome) : Self.message(aboutFewBucketsOf: outcome)
    }

    /// The message about the first argument of a `fractional` that is certainly the same for all users; nil otherwise. It quarantines the flag.
    func certainMessage(about first: JSONNode) -> String? {
        guard isOfSubject(first) else { return constantMessage(about: first) }
        return sampling(of: first)?.oneBucket().map { Self.message(aboutOneBucketOf: $0) }
    }

    private func isOfSubject(_ first: JSONNode) -> Bool {
        SubjectDependence(evaluators: evaluators) { value(of: $0) }.holds(for: first)
    }

    private func sampling(of first: JSONNode) -> BucketSampling? {
        guard let reads = BucketReads(first, evaluators: evaluators),
            let rule = RuleCompiler.rule(of: first, in: source, configuration, evaluators: evaluators)
        else { return nil }
        return BucketSampling(rule: rule, reads: reads, takesAnyValue: configuration.fractional == .v3)
    }

    private static func message(aboutOneBucketOf outcome: BucketSampling.Outcome) -> String {
        "the bucketing value of \"fractional\" is the same for all \(outcome.users) sample users: everybody gets one "
            + "variant, whatever the weights; bucket by {\"var\": \"targetingKey\"}, or leave it out"
    }

    private static func message(aboutFewBucketsOf outcome: BucketSampling.Outcome) -> String {
        "the bucketing value of \"fractional\" has only \(outcome.values) values for \(outcome.users) sample users: users "
            + "with the same value move together, and the weights are not shares of the users; bucket by "
            + "{\"var\": \"targetingKey\"}, or leave it out"
    }

    private func constantMessage(about first: JSONNode) -> String? {
        switch value(of: first) {
        case .null?, .list?, nil: return nil
        case .bool?, .int?, .double?, .object?:
            // Before v3 only a text can be a bucketing value, so no user gets a variant.
            guard configuration.fractional == .v3 else { return nil }
        case .string?: break
        }
        if case .string(let text) = first.value {
            return
                "\"fractional\" buckets by the text \(quoted(text)), which is the same for everybody: everybody gets one "
                + "variant, whatever the weights; write {\"var\": \(quoted(text))}, or name what tells users apart"
        }
        return
            "the bucketing value of \"fractional\" is the same for everybody: everybody gets one variant, whatever the weights; "
            + "bucket by {\"var\": \"targetingKey\"}, or leave it out"
    }

    /// The value of a rule that needs no context.
    private func value(of node: JSONNode) -> FlagValue? {
        var work = 0
        return RuleCompiler.value(of: node, in: source, configuration, evaluators: evaluators, work: &work)
    }
}

/// Whether the result of a rule can differ from one subject to another: whether it reads anything of the context but
/// what an evaluation adds to it itself, `$flagd.flagKey` and `$flagd.timestamp`.
struct SubjectDependence {
    /// The rules that flags share, by name.
    let evaluators: [String: JSONNode]
    /// The value of a rule that reads nothing of the context; nil if it is unknown.
    let constant: (JSONNode) -> FlagValue?

    /// Whether the result of a rule can differ. Where only running the rule could tell, the answer is yes.
    func holds(for node: JSONNode) -> Bool { depends(node, inEvaluator: false) }

    private func depends(_ node: JSONNode, inEvaluator: Bool) -> Bool {
        switch node.ruleForm {
        case .value:
            return false
        case .list(let elements):
            return elements.contains { depends($0, inEvaluator: inEvaluator) }
        case .reference:
            // An evaluator cannot refer to another one, and a rule in which one does is refused.
            guard !inEvaluator, let rule = node.referred(in: evaluators) else { return false }
            return depends(rule, inEvaluator: true)
        case .operation(let member):
            let shared = inEvaluator ? nil : member.value.referred(in: evaluators)
            let arguments = (shared ?? member.value).arguments
            return depends(member.key, arguments, inEvaluator: inEvaluator || shared != nil)
        }
    }

    private func depends(_ name: String, _ arguments: [JSONNode], inEvaluator: Bool) -> Bool {
        func reads(_ index: Int) -> Bool {
            index < arguments.count && depends(arguments[index], inEvaluator: inEvaluator)
        }
        switch name {
        case "var":
            return readsSubject(arguments.first) || reads(1)
        case "missing", "missing_some":
            return true
        case "map", "filter", "all", "some", "none", "reduce":
            // The rule for the elements sees nothing but them, and what `reduce` begins with.
            return reads(0) || (name == "reduce" && reads(2))
        case "if", "?:":
            return branchesDepend(arguments) { depends($0, inEvaluator: inEvaluator) }
        case "and", "or":
            return operandsDepend(name, arguments) { depends($0, inEvaluator: inEvaluator) }
        case "fractional":
            if arguments.contains(where: { depends($0, inEvaluator: inEvaluator) }) { return true }
            // Without a bucketing value, the flag's key and the targeting key decide.
            return arguments.first.map { isEntry($0, inEvaluator) || constant($0) == .null } ?? false
        default:
            return arguments.contains { depends($0, inEvaluator: inEvaluator) }
        }
    }

    /// Whether the path of a `var` leads to the subject. One that is computed may lead anywhere.
    private func readsSubject(_ path: JSONNode?) -> Bool {
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
        if case .string(let text) = node.value { return text.hasPrefix("$flagd") }
        if !inEvaluator, let rule = node.referred(in: evaluators) { return namesFlagd(rule, inEvaluator: true) }
        return node.children.contains { namesFlagd($0, inEvaluator: inEvaluator) }
    }

    private func isEntry(_ node: JSONNode, _ inEvaluator: Bool) -> Bool {
        let shared = inEvaluator ? nil : node.referred(in: evaluators)
        if case .array = (shared ?? node).value { return true }
        return false
    }
}

/// Finds by evaluation how well the first argument of a `fractional` distinguishes users.
///
/// A rule can read the targeting key and yet have the same result for all users, such as `{"substr": [{"var": "targetingKey"}, 0, 0]}`. It is
/// evaluated for users of several kinds, and accepted if it distinguishes those of one kind: a part of a UUID that a name does not have is a good
/// bucket if the keys are UUIDs.
struct BucketSampling {
    /// The results for the sample users.
    struct Outcome {
        let users: Int
        /// The different values that one flag has.
        let values: Int
    }

    private let rule: Rule
    private let reads: BucketReads
    /// Whether any value can be bucketed by, and not only a text.
    private let takesAnyValue: Bool

    /// As many of sixteen users in different buckets are enough: no more than a quarter are too few.
    private static let fewValues = BucketSamples.usersOfOneKind / 4
    /// How many steps the evaluations for one `fractional` may take together.
    private static let maximumWork = 4_096
    /// How many texts of a rule get additional users for whom a comparison with the text is true.
    private static let maximumTexts = 8
    /// The operators that give parts of what they read. Behind any other an attribute with few values, such as a plan
    /// or a country, is a choice of the rule's author.
    private static let copying: Set<String> = ["var", "cat", "substr", "merge", "missing", "missing_some"]
    /// The operators that make no difference between one key and another but for what of it is there.
    private static let unselective: Set<String> = ["var", "cat", "substr", "merge", "if", "?:", "and", "or", "!", "!!"]

    init(rule: Rule, reads: BucketReads, takesAnyValue: Bool) {
        self.rule = rule
        self.reads = reads
        self.takesAnyValue = takesAnyValue
    }

    /// The results if hardly any users are distinguished; nil if they are, or if that is unknown.
    func fewBuckets() -> Outcome? {
        guard reads.isKnown, reads.isOfTargetingKeyAlone || reads.operators.isSubset(of: Self.copying) else {
            return nil
        }
        return outcome(of: kinds, atMost: Self.fewValues)
    }

    /// The results if the bucket is the same for all users, whatever the keys look like; nil if it is not, or if that is uncertain.
    func oneBucket() -> Outcome? {
        guard reads.isOfTargetingKeyAlone, reads.operators.isSubset(of: Self.unselective) else { return nil }
        guard let outcome = outcome(of: [BucketSamples.long] + kinds, atMost: 1), outcome.values == 1 else {
            return nil
        }
        return outcome
    }

    private var kinds: [BucketSamples.Kind] {
        BucketSamples.ordinary + reads.texts.prefix(Self.maximumTexts).map { BucketSamples.around($0) }
    }

    /// Nil as soon as more users of one kind are distinguished than the limit.
    private func outcome(of kinds: [BucketSamples.Kind], atMost limit: Int) -> Outcome? {
        var valuesByFlag: [String: Set<FlagValue>] = [:]
        var users = 0
        var work = 0
        defer { WorkMeter.current?.add(work) }
        for kind in kinds {
            var values: Set<FlagValue> = []
            for key in kind.keys {
                guard work <= Self.maximumWork, let bucket = bucket(key, kind.flagKey, &work) else { return nil }
                values.insert(bucket)
                guard values.count <= limit else { return nil }
            }
            users += kind.keys.count
            valuesByFlag[kind.flagKey, default: []].formUnion(values)
        }
        return Outcome(users: users, values: valuesByFlag.values.map(\.count).max() ?? 0)
    }

    /// The value that a user is bucketed by; nil if there is none, or it cannot be computed.
    private func bucket(_ key: String, _ flagKey: String, _ work: inout Int) -> FlagValue? {
        var context = EvaluationContext(targetingKey: key)
        // Another path may lead on from where one ends.
        for path in reads.attributes { context.set(.string(key), at: path, replacesOld: false) }
        var evaluation = Evaluation(flagKey: flagKey, context: context, clock: { 0 })
        defer { work += 1 + evaluation.spentWork }
        do throws(EvaluationFault) {
            let value = try rule.evaluate(&evaluation)
            switch value {
            case .string: return value
            // The flag's key and the targeting key are taken.
            case .null: return .list([.string(key)])
            case .bool, .int, .double, .object: return takesAnyValue ? value : nil
            case .list: return nil
            }
        } catch {
            return nil
        }
    }

}

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
        switch node.ruleForm {
        case .value:
            guard case .string(let text) = node.value else { return }
            size += text.utf8.count / 64
            if !text.isEmpty { texts.append(text) }
        case .list(let elements):
            for element in elements { visit(element, seesContext: seesContext, inEvaluator: inEvaluator) }
        case .reference:
            // An evaluator cannot refer to another one.
            guard !inEvaluator, let rule = node.referred(in: evaluators) else { return }
            visit(rule, seesContext: seesContext, inEvaluator: true)
        case .operation(let member):
            visit(member, seesContext: seesContext, inEvaluator: inEvaluator)
        }
    }

    /// A shared list of arguments is visited as one argument, and a path in it is not known then.
    private mutating func visit(_ operation: JSONMember, seesContext: Bool, inEvaluator: Bool) {
        let name = operation.key
        operators.insert(name)
        if seesContext, name.hasPrefix("missing") { looksForMissing = true }
        var arguments = operation.value.arguments
        if name == "var" {
            read(arguments.first, seesContext)
            if case .string? = arguments.first?.value { arguments.removeFirst() }
        }
        let row = OperatorTable.row(name)
        for (index, argument) in arguments.enumerated() {
            let seesElement = row?.elementScope(ofArgument: index) != nil
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

/// Users of several kinds, to see whether a bucket tells them apart.
enum BucketSamples {
    /// Users whose keys look alike, and the flag that is evaluated for them.
    struct Kind: Sendable {
        let flagKey: String
        let keys: [String]
    }

    static let usersOfOneKind = 16

    /// Names, numbers, UUIDs and e-mail addresses.
    static let ordinary = [
        Kind(flagKey: flagKey, keys: names), Kind(flagKey: flagKey, keys: numbers),
        Kind(flagKey: flagKey, keys: numbered.map(uuid)),
        Kind(flagKey: flagKey, keys: names.enumerated().map { "\($1).\($0)@mail\($0 % 5).example.com" }),
    ]

    /// Keys longer than an app's mostly are, such as digests: 256 hexadecimal digits.
    static let long = Kind(
        flagKey: flagKey,
        keys: numbered.map { number in (0..<16).map { digits(number + 100 * UInt64($0)) }.joined() }
    )

    /// Users whose keys begin or end with a text or have nothing to do with it, and a flag that is called so.
    static func around(_ text: String) -> Kind {
        let keys = names.enumerated().map { index, name in
            switch index % 3 {
            case 0: text + name
            case 1: name + text
            default: name
            }
        }
        return Kind(flagKey: text, keys: keys)
    }

    private static let flagKey = "sample-flag"
    private static let numbered = (0..<usersOfOneKind).map { UInt64($0) }
    private static let names = [
        "ada", "berta", "carl", "dora", "emil", "frida", "georg", "hanna", "ida", "jonas", "klara", "ludwig", "mia",
        "nora",
        "oskar", "paula",
    ]
    private static let numbers = numbered.map { String(101 + 7_919 * $0) }

    private static func uuid(_ number: UInt64) -> String {
        var text = digits(number) + digits(number + 100)
        for offset in [8, 13, 18, 23] { text.insert("-", at: text.index(text.startIndex, offsetBy: offset)) }
        return text
    }

    /// Sixteen hexadecimal digits that differ from number to number.
    private static func digits(_ number: UInt64) -> String {
        var mixed = (number + 1) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        let text = String(mixed, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
