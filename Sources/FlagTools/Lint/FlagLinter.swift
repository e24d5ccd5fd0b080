import FeatureFlags
import Foundation

/// Finds in a flag file what its author would not have wanted: what cannot be read, what is read differently from how
/// it looks, rules that can never match, and cohorts that would jump over a stage.
///
/// A file without errors loads without a quarantined flag.
public struct FlagLinter: Sendable {
    /// How many findings of each severity are made of one file.
    public static let maximumFindings = 1_000

    private let stages: [StageOrder]
    private let family: FlagFamily?
    private let configuration: FlagConfiguration

    /// Makes a linter.
    ///
    /// - Parameters:
    ///   - stages: The flags whose values are stages.
    ///   - configuration: How the file will be evaluated; its kill flags are checked for their form, and its clock is
    ///     the present time for rules with time windows.
    public init(stages: [StageOrder] = [], configuration: FlagConfiguration = FlagConfiguration()) {
        self.init(stages: stages, family: nil, configuration: configuration)
    }

    /// - Parameter family: flags that several keys have; nil for none.
    package init(stages: [StageOrder], family: FlagFamily?, configuration: FlagConfiguration) {
        (self.stages, self.family, self.configuration) = (stages, family, configuration)
    }

    /// Looks at a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - oldPath: The version of the file that is in force; nil for none. With it the change is looked at too.
    /// - Throws: A ``FlagError`` for a file that cannot be read from its disk. One that cannot be parsed is a report,
    ///   but for the old one, which is an error too.
    public func lint(path: String, against oldPath: String? = nil) throws(FlagError) -> LintReport {
        let old = try oldPath.map { (path) throws(FlagError) in
            let bytes = try FlagFileReader.read(path: path)
            return try FlagDocument(bytes: bytes, format: FlagFormat(path: path), name: path)
        }
        return lint(try FlagFileReader.read(path: path), FlagFormat(path: path), path, against: old)
    }

    /// Looks at the content of a file.
    ///
    /// - Parameters:
    ///   - data: The content, in UTF-8.
    ///   - format: How it is written.
    ///   - source: What the findings call it.
    ///   - old: The content in force, in the same format; nil for none.
    /// - Throws: A ``FlagError`` for old content that cannot be parsed.
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
        SchemaLint(document: document, collector: collector).run()
        let splits = lintRules(document, collector)
        for key in configuration.killFlags.sorted() {
            guard let flag = document.flag(key) else { continue }
            KillFlagLint(flag: flag, collector: collector, configuration: configuration).run()
        }
        if let family {
            FamilyLint(family: family, document: document, collector: collector, configuration: configuration).run()
        }
        let (flags, isLoadable) = compiled(document, collector)
        let oldFlags = old.map { compiled($0, nil).flags }
        for order in stages {
            guard let flag = document.flag(order.flagKey), let new = flags[order.flagKey] else { continue }
            let lint = StageLint(order: order, document: document, flag: flag, collector: collector)
            lint.checkPercentages(splits[order.flagKey] ?? [])
            if let old, let oldFlags {
                let probe = StageProbe(documents: [old, document], flagKey: order.flagKey, now: configuration.clock())
                lint.checkChange(from: oldFlags[order.flagKey], to: new, probe)
            }
        }
        if let old {
            RebucketingLint(
                old: old,
                new: document,
                newSplits: splits,
                configuration: configuration,
                collector: collector
            )
            .run()
        }
        return LintReport(source: name, findings: collector.sorted, isReadable: isLoadable)
    }

    /// Looks at all rules. Returns the percentages that each flag hands out.
    private func lintRules(_ document: FlagDocument, _ collector: LintCollector) -> [String: [FractionalSplit]] {
        let reader = RuleReader(document: document, configuration: configuration)
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

    /// The flags as they are loaded. What quarantines one and was not found before becomes a finding, so that a clean
    /// report means a file that loads whole.
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
