import FeatureFlags

/// Collects the findings of one file.
final class LintCollector {
    let source: SourceText
    private(set) var findings: [LintFinding] = []
    private(set) var errorLocations: Set<FlagError.Location> = []
    private var known: Set<LintFinding> = []
    private var counts: [LintFinding.Severity: Int] = [:]
    private var places: Set<Int> = []

    init(source: SourceText) { self.source = source }

    func add(_ rule: LintRule, _ message: String, at range: Range<Int>, severity: LintFinding.Severity? = nil) {
        let location = source.location(at: range.lowerBound)
        places.insert(range.lowerBound)
        add(LintFinding(rule, message, at: location, severity: severity))
    }

    /// Whether something was found within a range. YAML's ranges are of one byte, and so the answer there is no.
    func hasFinding(in range: Range<Int>) -> Bool { places.contains { range.contains($0) } }

    /// A finding that was made already, such as one in an evaluator that several flags refer to, counts once. Each
    /// severity has a limit of its own, so that warnings cannot crowd out an error.
    func add(_ finding: LintFinding) {
        let count = counts[finding.severity, default: 0]
        guard count < FlagLinter.maximumFindings, known.insert(finding).inserted else { return }
        counts[finding.severity] = count + 1
        findings.append(finding)
        if finding.severity == .error { errorLocations.insert(finding.location) }
    }

    var sorted: [LintFinding] {
        findings.enumerated().sorted { first, second in
            let left = (first.element.location.line ?? 0, first.element.location.column ?? 0, first.offset)
            let right = (second.element.location.line ?? 0, second.element.location.column ?? 0, second.offset)
            return left < right
        }.map(\.element)
    }
}
