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
