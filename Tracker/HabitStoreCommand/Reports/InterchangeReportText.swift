import HabitStoreImport
import HabitStoreReports

/// The text output of importing an export.
struct InterchangeReportText {
    private let report: InterchangeReport
    private let isRehearsal: Bool

    init(_ report: InterchangeReport, isRehearsal: Bool) {
        self.report = report
        self.isRehearsal = isRehearsal
    }

    var text: String {
        var lines = [
            "an export of this program, \(report.format.rawValue)" + (isRehearsal ? ": what would be done" : "")
        ]
        for entity in report.entities {
            var parts = ["\(entity.inSource) in the export", "\(entity.added) \(isRehearsal ? "would be " : "")added"]
            if entity.known > 0 { parts.append("\(entity.known) here already") }
            if entity.differing > 0 { parts.append("\(entity.differing) here and different") }
            lines.append("  \(TerminalText.escaped(entity.entity)): " + parts.joined(separator: ", "))
        }
        if report.cut > 0 {
            lines.append("\(report.cut) references lead nowhere, and \(isRehearsal ? "would be" : "were") cut")
            if let attachment = report.attachment { lines.append("  kept in \(TerminalText.escaped(attachment))") }
        }
        switch report.differences {
        case nil: break
        case 0: lines.append("verified: read back, every record of the export is here, unchanged")
        case let count?: lines.append("NOT VERIFIED: \(count) records of the export are missing or different here")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
