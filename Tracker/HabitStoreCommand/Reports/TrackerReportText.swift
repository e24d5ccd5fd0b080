import HabitStoreReports
import HabitTrackerImport

/// The text output of a tracker import.
struct TrackerReportText {
    private let report: TrackerReport
    private let isRehearsal: Bool
    private let unaccepted: [TrackerReport.Loss]
    private let allowsAside: Bool

    /// - Parameters:
    ///   - unaccepted: the losses that result in exit code 1.
    ///   - allowsAside: whether it is acceptable that most of the source became no record.
    init(_ report: TrackerReport, isRehearsal: Bool, unaccepted: [TrackerReport.Loss], allowsAside: Bool) {
        self.report = report
        self.isRehearsal = isRehearsal
        self.unaccepted = unaccepted
        self.allowsAside = allowsAside
    }

    /// Whether the store equals the source, and most of the source is in the store.
    var isVerified: Bool {
        guard let verification = report.verification else { return true }
        return verification.isEqual && (allowsAside || verification.setAside.isEmpty)
    }

    var text: String {
        var lines = ["\(report.format.title)" + (isRehearsal ? ": what would be done" : "")]
        for row in report.rows { lines.append("  \(row.count) in \(TerminalText.escaped(row.name))") }
        lines += ["habits   " + words(report.habits), "entries  " + words(report.entries)]
        if report.tags.inSource > 0 { lines.append("tags     " + words(report.tags)) }
        section("odd in the source, copied unchanged:", report.oddities, &lines)
        section("kept next to the store, because the store has no place for it:", report.kept, &lines)
        if let attachment = report.attachment { lines.append("  in \(TerminalText.escaped(attachment))") }
        if let verification = report.verification { lines += words(verification) }
        lines += unaccepted.map { "LOSS \($0.kind): \(TerminalText.escaped($0.message))" }
        if !unaccepted.isEmpty { lines.append("exit code 1, unless --allow-loss names these") }
        return lines.joined(separator: "\n") + "\n"
    }

    private func words(_ verification: TrackerReport.Verification) -> [String] {
        let counted =
            "\(verification.habits.counted("habit")) with \(verification.entries.counted("entry", plural: "entries")), counted and "
            + "summed in the source by other code, are here"
        if isVerified { return ["verified: " + counted] + verification.setAside.map { "  - allowed: \($0)" } }
        var lines: [String] = []
        if !verification.isEqual { lines.append("NOT VERIFIED: the store differs from the source") }
        lines += verification.differences.map { "  - \($0)" }
        if verification.isEqual { lines.append("NOT VERIFIED: " + counted + ", but most is set aside") }
        lines += verification.setAside.map { "  - \($0)" }
        if !allowsAside, !verification.setAside.isEmpty { lines.append("exit code 1, unless --allow-aside is given") }
        return lines
    }

    /// The maximum number of findings listed per kind: a table may have hundreds of columns that the store cannot hold.
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
