import FeatureFlags
import JSONText

/// Checks the names that `var` reads in a file: some do not exist, others are similar to a name that does.
final class VariableList {
    private let collector: LintCollector

    /// How often each attribute is read in the file.
    private var counts: [String: Int] = [:]
    private var places: [(path: String, range: Range<Int>)] = []

    private static let flagdPaths = ["$flagd.flagKey", "$flagd.timestamp"]
    private static let targetingKey = "targetingKey"
    /// The shortest name that is compared; shorter ones, such as `v1` and `v2`, are often similar.
    private static let comparedLength = 6
    /// The most attributes that are compared: a program wrote a file with more, and programs do not misspell.
    private static let comparedPaths = 500

    init(collector: LintCollector) { self.collector = collector }

    /// Checks a `var` that reads the context.
    func add(_ path: String, _ range: Range<Int>) {
        if path.hasPrefix("$flagd.") {
            guard !Self.flagdPaths.contains(path) else { return }
            let question = NearMiss.question(path, among: Self.flagdPaths)
            let known = Self.flagdPaths.map { quoted($0) }.joined(separator: " and ")
            collector.add(
                .unknownVariable,
                "there is no \(quoted(path)), and it is always null; there are \(known)\(question)",
                at: range,
                severity: .error
            )
        } else if path.isEmpty {
            warn("the empty path reads the whole context; name the attribute to read", range)
        } else if let meant = Self.flagdPaths.first(where: { Self.isMeant($0, by: path) }) {
            warn("the context has no \(quoted(path)) unless the app adds it; did you mean \(quoted(meant))?", range)
        } else if Self.isNearTargetingKey(path) {
            warn("\(quoted(path)) is read as an attribute; did you mean \(quoted(Self.targetingKey))?", range)
        } else {
            counts[path, default: 0] += 1
            places.append((path, range))
        }
    }

    /// Checks a `var` inside `reduce`, where only two names exist.
    func checkReduction(_ path: String, _ range: Range<Int>) {
        let names = ["current", "accumulator"]
        guard let first = path.split(separator: ".").first.map(String.init), !names.contains(first) else { return }
        let question = NearMiss.question(first, among: names)
        warn(
            "\"reduce\" shows its rule \"current\" and \"accumulator\" only, and this is always null\(question)",
            range
        )
    }

    /// Finds attributes that are read less often than another one with a similar name.
    func finish() {
        guard counts.count <= Self.comparedPaths else { return }
        let paths = counts.keys.sorted()
        var questions: [String: String] = [:]
        for path in paths {
            let others = paths.filter { isLikely($0, insteadOf: path) }
            if let meant = others.first { questions[path] = meant }
        }
        for place in places {
            guard let meant = questions[place.path] else { continue }
            warn("the file reads \(quoted(meant)) too; did you mean that?", place.range)
        }
    }

    private func isLikely(_ other: String, insteadOf path: String) -> Bool {
        guard other != path, counts[other, default: 0] > counts[path, default: 0] else { return false }
        if NearMiss.isSameWord(other, path) { return true }
        let names = (Array(path.unicodeScalars), Array(other.unicodeScalars))
        guard names.0.count >= Self.comparedLength, names.0.count == names.1.count,
            path.filter(\.isNumber) == other.filter(\.isNumber)
        else { return false }
        return NearMiss.distance(names.0, names.1, limit: 1) != nil
    }

    /// Whether a path is one of `$flagd` without its sign, or with another word before the dot.
    private static func isMeant(_ known: String, by path: String) -> Bool {
        let parts = path.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let name = known.split(separator: ".").last,
            NearMiss.isSameWord(String(parts[1]), String(name))
        else { return false }
        return ["$flag", "flagd", "flag", "$flagd", "$flagD", "$fladg", "$falgd", "@flagd"]
            .contains { NearMiss.isSameWord($0, String(parts[0])) }
    }

    private static func isNearTargetingKey(_ path: String) -> Bool {
        guard path != targetingKey else { return false }
        let last = path.split(separator: ".").last.map(String.init) ?? path
        if ["$", "context.", "ctx.", "user.", "$flagd"].contains(where: path.hasPrefix),
            NearMiss.isSameWord(last, targetingKey)
                || NearMiss.isSameWord(path, "$" + targetingKey)
        {
            return true
        }
        return NearMiss.nearest(to: path, among: [targetingKey]) != nil || NearMiss.isSameWord(path, "targetKey")
    }

    private func warn(_ message: String, _ range: Range<Int>) { collector.add(.unknownVariable, message, at: range) }
}

/// The context variables that a rule reads, with their positions, except those in rules for the elements of a list.
struct ContextVariables {
    let reader: RuleReader
    private(set) var reads: [(path: String, range: Range<Int>)] = []

    init(reader: RuleReader) { self.reader = reader }

    mutating func collect(_ node: JSONNode, inEvaluator: Bool = false) {
        switch node.ruleForm {
        case .value: break
        case .list(let elements):
            for element in elements { collect(element, inEvaluator: inEvaluator) }
        case .reference:
            // An evaluator cannot refer to another one.
            if !inEvaluator, node.reference != nil { collect(reader.resolved(node), inEvaluator: true) }
        case .operation(let member):
            if member.key == "var", let path = reader.variablePath(node) { reads.append((path, member.value.range)) }
            let row = OperatorTable.row(member.key)
            for (index, argument) in member.value.arguments.enumerated() {
                if row?.elementScope(ofArgument: index) == nil { collect(argument, inEvaluator: inEvaluator) }
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
