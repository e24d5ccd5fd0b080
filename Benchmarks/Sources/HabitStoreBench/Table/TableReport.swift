import Foundation

/// The results of the suite `table`, for people and programs.
struct TableReport: Codable {
    let habits: Int
    let entries: Int
    let rounds: Int
    let rows: [TableRow]

    var markdown: String {
        var lines = [
            "\(habits) habits, \(entries.grouped) entries, \(rounds) rounds in turn; medians, milliseconds.", "",
            "| work | engine | ours | C | ratio | goal | met | GRDB, Codable | ahead | goal | met | GRDB, by hand | ahead |",
            "|---|---|---:|---:|---:|---:|---|---:|---:|---:|---|---:|---:|",
        ]
        for row in rows {
            let cells = [
                row.title, row.subject, Self.time(row.ours), Self.time(row.milliseconds["C"]), Self.times(row.ratio),
                row.goal.map { "≤ \($0)" } ?? "–", Self.answer(row.isGoalMet),
                Self.time(row.milliseconds[GRDBTableContestant.Style.codable.rawValue]),
                Self.times(row.ahead(of: .codable)), row.lead.map { "≥ \($0)" } ?? "–", Self.answer(row.isLeadMet),
                Self.time(row.milliseconds[GRDBTableContestant.Style.byHand.rawValue]),
                Self.times(row.ahead(of: .byHand)),
            ]
            lines.append("| \(cells.joined(separator: " | ")) |")
        }
        return lines.joined(separator: "\n")
    }

    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return try encoder.encode(self)
        }
    }

    /// Three significant digits, since the times range from a microsecond to seconds.
    private static func time(_ milliseconds: Double?) -> String {
        guard let milliseconds else { return "–" }
        let digits = max(0, 2 - Int(log10(max(milliseconds, 0.0001)).rounded(.down)))
        return String(format: "%.\(digits)f", milliseconds)
    }

    private static func times(_ ratio: Double?) -> String { ratio.map { String(format: "%.2f", $0) } ?? "–" }

    private static func answer(_ isMet: Bool?) -> String { isMet.map { $0 ? "yes" : "no" } ?? "–" }
}
