import FeatureFlags
import Foundation
import JSONText

/// Explains the outcome of a flag for people: the evaluated operators, the branch that decided, and the file.
public struct FlagExplanation: Sendable {
    /// The place in the file that decided.
    public struct Decision: Sendable, Equatable {
        /// The description of what decided, such as `branch 1 of "if"` or `the default variant`.
        public let summary: String
        /// The location of the chosen value; nil if none was chosen.
        public let location: FlagError.Location?
    }

    /// A name that the rule reads and the context does not have, although it has a similar one.
    public struct Hint: Sendable, Equatable {
        /// The name that is read and the one that exists. It contains names of attributes but none of their values.
        public let message: String
        /// The location of the read.
        public let location: FlagError.Location
    }

    /// The outcome.
    public let resolution: Resolution
    /// The operators in the order in which their evaluation began.
    public let steps: [EvaluationStep]
    /// The decisions from the outermost rule to the innermost; empty if the flag has no effective targeting.
    public let decisions: [Decision]
    /// Possible misspellings in the rule or in the context.
    public let hints: [Hint]
    /// The file's path, or the caller's name for it.
    public let source: String
    /// The SHA-256 digest of the file's bytes in hexadecimal.
    public let digest: String
    /// The percentage that was evaluated last, if there is one.
    public var fractional: FractionalChoice? { steps.last { $0.fractional != nil }?.fractional }

    /// Evaluates a flag of a file and records how.
    ///
    /// - Throws: The errors of ``FlagSnapshot/load(path:format:configuration:)``.
    public static func explain(
        _ flagKey: String,
        context: EvaluationContext,
        path: String,
        configuration: FlagConfiguration = FlagConfiguration()
    ) throws(FlagError) -> FlagExplanation {
        let bytes = try FlagFileReader.read(path: path)
        let format = FlagFormat(path: path)
        let snapshot = try FlagSnapshot(bytes: bytes, format: format, source: path, configuration: configuration)
        let document = try FlagDocument(bytes: bytes, format: format, name: path)
        let (resolution, steps) = snapshot.explain(flagKey, context: context)
        var decisions: [Decision] = []
        var hints: [Hint] = []
        if let targeting = document.flag(flagKey)?.node.member("targeting"), !steps.isEmpty {
            let reader = RuleReader(document: document, configuration: configuration, work: LintWork())
            var walk = DecisionWalk(reader: reader, steps: steps)
            walk.follow(targeting.value)
            decisions = walk.decisions
            var variables = ContextVariables(reader: reader)
            variables.collect(targeting.value)
            hints = variables.hints(context)
        }
        return FlagExplanation(
            resolution: resolution,
            steps: steps,
            decisions: decisions,
            hints: hints,
            source: path,
            digest: snapshot.digest
        )
    }
}

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

extension EvaluationContext {
    /// Parses a context from a JSON object. A string `targetingKey` is the targeting key; all other members are attributes.
    ///
    /// - Throws: A ``FlagError`` with ``FlagError/Code/invalidContext`` if it is not a JSON object.
    public init(json: Data) throws(FlagError) {
        var warnings = FlagWarningList()
        let node: JSONNode
        do throws(FlagError) {
            node = try SourceText(bytes: Array(json), name: "context").json(warnings: &warnings)
        } catch {
            throw FlagError(.invalidContext, "the context is not JSON: \(error.message)", at: error.location)
        }
        if let number = node.unusableNumber {
            let source = try SourceText(bytes: Array(json), name: "context")
            let place = source.location(at: number.range.lowerBound)
            throw FlagError(.invalidContext, JSONNode.unusableNumberMessage, at: place)
        }
        guard case .object(var attributes) = node.flagValue else {
            throw FlagError(.invalidContext, "the context must be a JSON object, as {\"targetingKey\": \"ada\"}")
        }
        if case .string(let key)? = attributes["targetingKey"] {
            attributes.removeValue(forKey: "targetingKey")
            self.init(targetingKey: key, attributes: attributes)
        } else {
            self.init(attributes: attributes)
        }
    }
}
