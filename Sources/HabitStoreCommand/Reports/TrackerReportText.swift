import HabitStoreReports
import HabitTrackerImport

/// What an import found and did, for people.
struct TrackerReportText {
    private let report: TrackerReport
    private let isRehearsal: Bool

    init(_ report: TrackerReport, isRehearsal: Bool) {
        self.report = report
        self.isRehearsal = isRehearsal
    }

    var text: String {
        var lines = ["\(report.format.title)" + (isRehearsal ? ": what would be done" : "")]
        for row in report.rows { lines.append("  \(row.count) in \(TerminalText.escaped(row.name))") }
        lines += ["habits   " + words(report.habits), "entries  " + words(report.entries)]
        if report.tags.inSource > 0 { lines.append("tags     " + words(report.tags)) }
        section("odd in the source, and carried as it is:", report.oddities, &lines)
        section("kept beside the store, because nothing here can hold it:", report.kept, &lines)
        if let attachment = report.attachment { lines.append("  in \(TerminalText.escaped(attachment))") }
        if let verification = report.verification {
            lines.append(
                verification.isEqual
                    ? "verified: \(verification.habits) habits with \(verification.entries) entries, counted and summed "
                        + "in the source by other code, are here"
                    : "NOT VERIFIED: the store differs from the source"
            )
            lines += verification.differences.map { "  - \($0)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// How many findings of a kind are named: a table may have hundreds of columns that nothing here can hold.
    private static let mostNamed = 20

    private func section(_ title: String, _ findings: [TrackerReport.Finding], _ lines: inout [String]) {
        guard !findings.isEmpty else { return }
        lines.append(title)
        let isLong = findings.count > Self.mostNamed + 1
        let (named, rest) =
            isLong ? (findings.prefix(Self.mostNamed), findings.dropFirst(Self.mostNamed)) : (findings[...], [])
        for finding in named { lines.append("  \(finding.count)  \(TerminalText.escaped(finding.name))") }
        guard !rest.isEmpty else { return }
        lines.append("  \(rest.reduce(0) { $0 + $1.count })  under \(rest.count) more names, which --format json lists")
    }

    private func words(_ count: TrackerReport.Count) -> String {
        var parts = ["\(count.inSource) in the source", "\(count.added) \(isRehearsal ? "would be " : "")added"]
        if count.known > 0 { parts.append("\(count.known) here already") }
        if count.differing > 0 { parts.append("\(count.differing) here and different") }
        return parts.joined(separator: ", ")
    }
}
