import FeatureFlags
import Foundation

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
