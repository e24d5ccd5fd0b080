import FeatureFlags
import Foundation

/// How a flag came to its outcome, for a person: the operators that were evaluated, which branch decided, and out of
/// which bytes.
public struct FlagExplanation: Sendable {
    /// The place that decided.
    public struct Decision: Sendable, Equatable {
        /// What decided, such as `branch 1 of "if"`, or `the default variant`.
        public let summary: String
        /// Where the value stands that was chosen; nil where none was.
        public let location: FlagError.Location?
    }

    /// A name that the rule reads, that the context does not have, and that is nearly one that it has.
    public struct Hint: Sendable, Equatable {
        /// What is read, and what there is. It names attributes of the context and shows none of their values.
        public let message: String
        /// Where it is read.
        public let location: FlagError.Location
    }

    /// The outcome.
    public let resolution: Resolution
    /// The operators in the order in which they began.
    public let steps: [EvaluationStep]
    /// What decided, from the outermost rule to the innermost; empty where the flag has no targeting in force.
    public let decisions: [Decision]
    /// What may be misspelt in the rule or in the context.
    public let hints: [Hint]
    /// The file's path, or the name that the caller gave to it.
    public let source: String
    /// The SHA-256 digest of the file's bytes in hexadecimal digits.
    public let digest: String
    /// The percentage that decided last, if one did.
    public var fractional: FractionalChoice? { steps.last { $0.fractional != nil }?.fractional }

    /// Evaluates a flag of a file and notes how.
    ///
    /// - Throws: What ``FlagSnapshot/load(path:format:configuration:)`` throws.
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
