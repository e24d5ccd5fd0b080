import Foundation

/// The table as an SVG plot: a line for each row, with each side at its time as a multiple of the C program's.
struct TablePlot {
    private let rows: [TableRow]

    private static let (labelWidth, plotWidth, lineHeight, top) = (420.0, 520.0, 22.0, 64.0)
    /// The ends of the logarithmic scale.
    private static let (least, most) = (0.25, 32.0)

    private struct Mark {
        let name: String
        let title: String
        let color: String
    }

    private static let marks = [
        Mark(name: GRDBTableContestant.Style.codable.rawValue, title: "GRDB, Codable records", color: "#d97706"),
        Mark(name: GRDBTableContestant.Style.byHand.rawValue, title: "GRDB, by hand", color: "#9ca3af"),
        Mark(name: "ours", title: "HabitStore", color: "#2563eb"),
    ]

    init(_ report: TableReport) { rows = report.rows.filter { $0.ratio != nil } }

    var svg: String {
        let height = Self.top + Double(rows.count) * Self.lineHeight + 16
        let width = Self.labelWidth + Self.plotWidth + 24
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(width)) \(Int(height))" font-family="sans-serif" \
            font-size="12">
            <rect width="100%" height="100%" fill="#ffffff"/>
            \(legend)
            \(scale(height))
            \(rows.enumerated().map { line($1, Self.top + (Double($0) + 0.5) * Self.lineHeight) }.joined(separator: "\n"))
            </svg>

            """
    }

    private var legend: String {
        let title = """
            <text x="8" y="20" font-weight="bold">Time as a multiple of the same work in C; green: the goal</text>
            """
        let entries = Self.marks.enumerated().map { place, mark in
            let x = Self.labelWidth + Double(place) * 170
            return """
                <circle cx="\(x)" cy="16" r="5" fill="\(mark.color)"/>\
                <text x="\(x + 10)" y="20">\(mark.title)</text>
                """
        }
        return ([title] + entries).joined(separator: "\n")
    }

    private func scale(_ height: Double) -> String {
        stride(from: -2, through: 5, by: 1).map { power in
            let multiple = pow(2, Double(power))
            let x = Self.place(multiple)
            let label = multiple < 1 ? "1/\(Int(1 / multiple))" : "\(Int(multiple))"
            return """
                <line x1="\(x)" x2="\(x)" y1="\(Self.top - 8)" y2="\(height - 12)" \
                stroke="\(power == 0 ? "#111827" : "#e5e7eb")"/>\
                <text x="\(x)" y="\(Self.top - 14)" text-anchor="middle">\(label)</text>
                """
        }.joined(separator: "\n")
    }

    private func line(_ row: TableRow, _ y: Double) -> String {
        var parts = [
            """
            <text x="\(Self.labelWidth - 12)" y="\(y + 4)" text-anchor="end">\(row.title) (\(row.subject))</text>
            """
        ]
        if let goal = row.goal {
            let x = Self.place(goal)
            parts.append(
                """
                <line x1="\(x)" x2="\(x)" y1="\(y - 8)" y2="\(y + 8)" stroke="#16a34a" stroke-width="2"/>
                """
            )
        }
        for mark in Self.marks {
            guard let time = row.milliseconds[mark.name], let reference = row.milliseconds["C"] else { continue }
            let x = Self.place(time / reference)
            parts.append(#"<circle cx="\#(x)" cy="\#(y)" r="5" fill="\#(mark.color)"/>"#)
        }
        return parts.joined()
    }

    private static func place(_ multiple: Double) -> Double {
        let share = log2(min(max(multiple, least), most) / least) / log2(most / least)
        return (labelWidth + share * plotWidth).rounded()
    }
}
