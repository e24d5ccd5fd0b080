import FeatureFlags

/// Collects the findings of one file.
final class LintCollector {
    let source: SourceText
    private(set) var findings: [LintFinding] = []
    private(set) var errorLocations: Set<FlagError.Location> = []
    private var known: Set<LintFinding> = []
    private var counts: [LintFinding.Severity: Int] = [:]
    /// The positions of findings, in order and without duplicates.
    private var places: [Int] = []

    init(source: SourceText) { self.source = source }

    func add(_ rule: LintRule, _ message: String, at range: Range<Int>, severity: LintFinding.Severity? = nil) {
        let location = source.location(at: range.lowerBound)
        if add(LintFinding(rule, message, at: location, severity: severity)) { note(range.lowerBound) }
    }

    private func note(_ place: Int) {
        let index = firstIndex(from: place)
        if index == places.count || places[index] != place { places.insert(place, at: index) }
    }

    /// The index of the first position at or after an offset.
    private func firstIndex(from offset: Int) -> Int {
        var range = 0..<places.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = places[middle] < offset ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// Whether anything was found within a range. Always false in YAML, whose ranges have one byte.
    func hasFinding(in range: Range<Int>) -> Bool {
        let index = firstIndex(from: range.lowerBound)
        return index < places.count && range.contains(places[index])
    }

    /// Adds a finding and returns whether there was room for it. A repeated finding, such as one in an evaluator that several flags refer to, counts
    /// once. Each severity has its own limit, so that warnings cannot crowd out an error.
    @discardableResult
    func add(_ finding: LintFinding) -> Bool {
        let count = counts[finding.severity, default: 0]
        guard count < FlagLinter.maximumFindings else { return false }
        guard known.insert(finding).inserted else { return true }
        counts[finding.severity] = count + 1
        findings.append(finding)
        if finding.severity == .error { errorLocations.insert(finding.location) }
        return true
    }

    var sorted: [LintFinding] {
        findings.enumerated().sorted { first, second in
            let left = (first.element.location.line ?? 0, first.element.location.column ?? 0, first.offset)
            let right = (second.element.location.line ?? 0, second.element.location.column ?? 0, second.offset)
            return left < right
        }.map(\.element)
    }
}
