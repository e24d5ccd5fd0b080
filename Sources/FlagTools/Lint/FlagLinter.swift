import FeatureFlags
import Foundation

/// Finds mistakes in a flag file: parts that cannot be parsed, parts that mean something else than they seem to, rules that can never match, and
/// cohorts that would skip a stage.
///
/// A file without errors loads without quarantined flags.
public struct FlagLinter: Sendable {
    /// The most findings of each severity in one file.
    public static let maximumFindings = 1_000

    private let stages: [StageOrder]
    private let family: FlagFamily?
    private let configuration: FlagConfiguration
    /// The limit on the work of one pass over a file; tests lower it.
    var maximumWork = LintWork.maximum

    /// Creates a linter.
    ///
    /// - Parameters:
    ///   - stages: The flags whose values are stages.
    ///   - configuration: The configuration that will evaluate the file; its kill flags are checked for their form, and its clock provides the time
    ///     for rules with time windows.
    public init(stages: [StageOrder] = [], configuration: FlagConfiguration = FlagConfiguration()) {
        self.init(stages: stages, family: nil, configuration: configuration)
    }

    /// - Parameter family: The flags that exist under several keys; nil for none.
    package init(stages: [StageOrder], family: FlagFamily?, configuration: FlagConfiguration) {
        (self.stages, self.family, self.configuration) = (stages, family, configuration)
    }

    /// Lints a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - oldPath: The current version of the file; nil for none. With it, the change is checked, too.
    /// - Throws: A ``FlagError`` if a file cannot be read from disk, or the old file cannot be parsed. If the new file cannot be parsed, the report
    ///   says so.
    public func lint(path: String, against oldPath: String? = nil) throws(FlagError) -> LintReport {
        let old = try oldPath.map { (path) throws(FlagError) in
            let bytes = try FlagFileReader.read(path: path)
            return try FlagDocument(bytes: bytes, format: FlagFormat(path: path), name: path)
        }
        return lint(try FlagFileReader.read(path: path), FlagFormat(path: path), path, against: old)
    }

    /// Lints the content of a file.
    ///
    /// - Parameters:
    ///   - data: The content, in UTF-8.
    ///   - format: The format of the content.
    ///   - source: The name of the file in findings.
    ///   - old: The current content, in the same format; nil for none.
    /// - Throws: A ``FlagError`` if the old content cannot be parsed.
    public func lint(
        _ data: Data,
        format: FlagFormat = .json,
        source: String,
        against old: Data? = nil
    ) throws(FlagError) -> LintReport {
        let document = try old.map { (data) throws(FlagError) in
            try FlagDocument(bytes: Array(data), format: format, name: source)
        }
        return lint(Array(data), format, source, against: document)
    }

    func lint(_ bytes: [UInt8], _ format: FlagFormat, _ name: String, against old: FlagDocument?) -> LintReport {
        let document: FlagDocument
        do throws(FlagError) {
            document = try FlagDocument(bytes: bytes, format: format, name: name)
        } catch {
            let finding = LintFinding(.syntax, error.message, at: error.location)
            return LintReport(source: name, findings: [finding], isReadable: false)
        }
        let collector = LintCollector(source: document.source)
        let reader = RuleReader(document: document, configuration: configuration, work: LintWork(maximumWork))
        let oldReader = old.map { RuleReader(document: $0, configuration: configuration, work: LintWork(maximumWork)) }
        SchemaLint(document: document, collector: collector).run()
        let splits = lintRules(reader, collector)
        for key in configuration.killFlags.sorted() {
            guard let flag = document.flag(key) else { continue }
            KillFlagLint(flag: flag, collector: collector, configuration: configuration).run()
        }
        if let family {
            FamilyLint(
                family: family,
                document: document,
                collector: collector,
                configuration: configuration,
                work: reader.work
            )
            .run()
        }
        let (flags, isLoadable) = compiled(document, collector)
        let probes = LintWork(maximumWork)
        lintOutcomes(reader, oldReader, splits, flags, probes, collector)
        if let oldReader { lintChange(oldReader, document, splits, collector) }
        let place = document.root.member("flags")?.keyRange ?? document.root.range
        let isOldUnchecked = oldReader?.work.isSpent ?? false
        if let end = reader.work.end ?? (probes.isSpent || isOldUnchecked ? place : nil) {
            collector.add(
                .unchecked,
                "checking the rules took too much work and was not finished, so findings may be missing; let fewer rules refer "
                    + "to large evaluators, and take large conditions apart",
                at: end
            )
        }
        return LintReport(source: name, findings: collector.sorted, isReadable: isLoadable)
    }

    /// Checks the values that users get in this version and in the current one.
    private func lintOutcomes(
        _ reader: RuleReader,
        _ oldReader: RuleReader?,
        _ splits: [String: [FractionalSplit]],
        _ flags: [String: CompiledFlag],
        _ probes: LintWork,
        _ collector: LintCollector
    ) {
        let oldFlags = oldReader.map { compiled($0.document, nil).flags }
        let readers = (oldReader.map { [$0] } ?? []) + [reader]
        for order in stages {
            guard let flag = reader.document.flag(order.flagKey), let new = flags[order.flagKey] else { continue }
            let lint = StageLint(order: order, document: reader.document, flag: flag, collector: collector)
            lint.checkPercentages(splits[order.flagKey] ?? [])
            guard let oldFlags else { continue }
            let now = configuration.clock()
            let probe = StageProbe(readers: readers, flagKeys: [order.flagKey], now: now, work: probes)
            lint.checkChange(from: oldFlags[order.flagKey], to: new, probe)
        }
        guard let family else { return }
        FlagPairLint(
            family: family,
            readers: readers,
            new: reader.document,
            configuration: configuration,
            collector: collector,
            work: probes
        )
        .run(flags, oldFlags ?? [:])
    }

    private func lintChange(
        _ old: RuleReader,
        _ new: FlagDocument,
        _ splits: [String: [FractionalSplit]],
        _ collector: LintCollector
    ) {
        RebucketingLint(old: old, newSplits: splits, collector: collector).run()
        let isRead = { (key: String) in
            configuration.killFlags.contains(key) || stages.contains { $0.flagKey == key }
                || family?.member(key) != nil
        }
        RemovalLint(old: old.document, new: new, isRead: isRead, collector: collector).run()
    }

    /// Checks all rules and returns the percentages of each flag.
    private func lintRules(_ reader: RuleReader, _ collector: LintCollector) -> [String: [FractionalSplit]] {
        let document = reader.document
        let references = ReferenceList()
        let variables = VariableList(collector: collector)
        defer { variables.finish() }
        var splits: [String: [FractionalSplit]] = [:]
        for flag in document.flags {
            var lint = TargetingLint(
                flag: flag,
                reader: reader,
                collector: collector,
                references: references,
                variables: variables
            )
            lint.run()
            splits[flag.key] = lint.splits
        }
        guard case .object(let members)? = document.root.member("$evaluators")?.value.value else { return splits }
        for member in members {
            OperatorLint(
                reader: reader,
                collector: collector,
                references: references,
                evaluator: member.key,
                variables: variables
            )
            .visit(member.value)
            if !references.names.contains(member.key) {
                collector.add(
                    .unusedEvaluator,
                    "no flag refers to the evaluator \(quoted(member.key)); remove it",
                    at: member.keyRange
                )
            }
        }
        return splits
    }

    /// Compiles the flags as loading does. Every reason for quarantine that was not found before becomes a finding, so that a clean report means a
    /// file that loads completely.
    private func compiled(
        _ document: FlagDocument,
        _ collector: LintCollector?
    ) -> (flags: [String: CompiledFlag], isLoadable: Bool) {
        var compiler = FlagFileCompiler(
            source: document.source,
            configuration: configuration,
            warnings: FlagWarningList()
        )
        var isLoadable = true
        do throws(FlagError) {
            try compiler.compile(document.root)
        } catch {
            isLoadable = false
            if let collector, collector.errorLocations.isEmpty {
                collector.add(LintFinding(.schema, error.message, at: error.location))
            }
        }
        guard let collector, !compiler.quarantined.isEmpty else { return (compiler.flags, isLoadable) }
        var keyRanges: [String: Range<Int>] = [:]
        for flag in document.flags { keyRanges[flag.key] = flag.keyRange }
        for (key, error) in compiler.quarantined.sorted(by: { $0.key < $1.key }) {
            guard let keyRange = keyRanges[key] else { continue }
            let isFound = [error.location, document.source.location(at: keyRange.lowerBound)]
                .contains(where: collector.errorLocations.contains)
            if !isFound { collector.add(LintFinding(.schema, error.message, at: error.location)) }
        }
        return (compiler.flags, isLoadable)
    }
}

/// The linter's findings in one file.
public struct LintReport: Sendable, Equatable {
    /// The file's path, or the caller's name for it.
    public let source: String
    /// The findings in the file's order; at most ``FlagLinter/maximumFindings`` of each severity.
    public let findings: [LintFinding]
    /// Whether the file could be read as a flag file. Otherwise no flag is evaluated from it, and a finding says why: it cannot be parsed, or has no
    /// `flags`.
    public let isReadable: Bool

    /// Whether there are errors, and not only warnings.
    public var hasErrors: Bool { findings.contains { $0.severity == .error } }
}

/// A finding of the linter in a flag file.
public struct LintFinding: Sendable, Hashable {
    /// The severity of a finding.
    public enum Severity: String, Sendable, CaseIterable {
        /// The file or one of its flags does not do what it says, and nothing compensates for that.
        case error
        /// The file works, but perhaps not as its author intended.
        case warning
    }

    /// The rule that made the finding.
    public let rule: LintRule
    /// The severity.
    public let severity: Severity
    /// The problem and what to do about it.
    public let message: String
    /// The location in the file.
    public let location: FlagError.Location

    /// Creates a finding, by default with the rule's severity.
    public init(_ rule: LintRule, _ message: String, at location: FlagError.Location, severity: Severity? = nil) {
        self.rule = rule
        self.severity = severity ?? rule.severity
        self.message = message
        self.location = location
    }
}

extension LintFinding: CustomStringConvertible {
    /// `file:line:column: error: message [rule]`, as in compilers.
    public var description: String { "\(location): \(severity.rawValue): \(message) [\(rule.rawValue)]" }
}

/// The rules of the linter. Their names are stable; future versions may add rules.
public enum LintRule: String, Sendable, CaseIterable {
    /// The file cannot be read or parsed at all.
    case syntax
    /// Part of the file does not have the form that the format requires, and the flag cannot be used.
    case schema
    /// A member that the format does not define, and that has no effect.
    case unknownMember = "unknown-member"
    /// Metadata of an unsupported type.
    case metadata
    /// A name occurs twice in an object, or a flag twice in the file; only the last one counts.
    case duplicateKey = "duplicate-key"
    /// A text or number was changed by parsing: a lone surrogate, an integer beyond 64 bits, or a byte order mark.
    case encoding
    /// An operator that does not exist.
    case unknownOperator = "unknown-operator"
    /// An operator has arguments that it cannot use.
    case arguments
    /// A variable that does not exist, or whose name is similar to another one's.
    case unknownVariable = "unknown-variable"
    /// Arguments in the wrong order.
    case exchangedArguments = "exchanged-arguments"
    /// A comparison of `$flagd.timestamp` with something that is not a time in seconds.
    case timestamp
    /// A text that is compared literally but looks as if it was meant otherwise.
    case suspiciousText = "suspicious-text"
    /// Branches, or all entries of a percentage, that have the same result.
    case equalBranches = "equal-branches"
    /// A `$ref` to an evaluator that does not exist, or from one evaluator to another.
    case unknownReference = "unknown-reference"
    /// An evaluator that no flag refers to.
    case unusedEvaluator = "unused-evaluator"
    /// The targeting can return a result that is not a variant of the flag.
    case unknownVariant = "unknown-variant"
    /// A percentage of a value that all users share, so that it moves all users together or none.
    case constantBucket = "constant-bucket"
    /// Weights of a `fractional` that are all zero or invalid.
    case weights
    /// Weights that look like percentages but do not add up to 100.
    case percentages
    /// `sem_ver` with an invalid version or operator.
    case invalidVersion = "invalid-version"
    /// `in` searches something empty.
    case emptyList = "empty-list"
    /// A comparison of values with different types.
    case typeMismatch = "type-mismatch"
    /// A condition that is never true.
    case constantCondition = "constant-condition"
    /// A branch that is never reached.
    case unreachableBranch = "unreachable-branch"
    /// Targeting that never selects a variant.
    case neverMatches = "never-matches"
    /// A disabled flag with targeting.
    case disabledTargeting = "disabled-targeting"
    /// A kill flag that cannot kill, or cannot be recovered from a damaged file.
    case killFlag = "kill-flag"
    /// A kill flag that is pulled.
    case killPulled = "kill-pulled"
    /// A value that the flag cannot have, such as an unknown stage.
    case wrongValue = "wrong-value"
    /// A flag whose key is similar to one that programs read.
    case unknownFlag = "unknown-flag"
    /// A cohort that would skip a stage.
    case stageJump = "stage-jump"
    /// A change of weights, their order, or the bucketing that moves users in both directions.
    case rebucketing
    /// The change removes a flag that the caller reads.
    case removedFlag = "removed-flag"
    /// Two flags that must differ but have the same value, or whose values were exchanged.
    case flagPair = "flag-pair"
    /// The file's version is lower than the current one, or missing although the current file has one.
    case version
    /// The rules take too much work to check all of them.
    case unchecked

    /// The default severity of a finding of this rule.
    public var severity: LintFinding.Severity {
        switch self {
        case .syntax, .schema, .duplicateKey, .unknownOperator, .arguments, .unknownReference, .unknownVariant,
            .constantBucket, .weights, .invalidVersion, .timestamp, .killFlag, .wrongValue,
            .flagPair:
            .error
        case .unknownVariable, .exchangedArguments, .suspiciousText, .equalBranches, .unknownMember, .metadata,
            .encoding, .unusedEvaluator, .percentages, .emptyList, .typeMismatch,
            .constantCondition, .unreachableBranch, .neverMatches, .disabledTargeting, .killPulled, .stageJump,
            .unknownFlag, .rebucketing, .removedFlag, .version, .unchecked:
            .warning
        }
    }
}
