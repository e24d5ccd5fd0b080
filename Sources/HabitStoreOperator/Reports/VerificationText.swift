import Foundation
import HabitStore
import HabitStoreReports
import ShadowVerifier

/// A comparison of two stores as text: the verdict first, then its basis.
struct VerificationText {
    /// How many differences of each kind are listed.
    private static let listedDifferences = 10
    /// The kinds whose message does not contain both sides.
    private static let sidesToldBesides: Set<StoreDifference.Kind> = [.attribute, .queryRecords, .queryOrder]

    private let report: VerificationReport
    private let options: TerminalOptions

    init(_ report: VerificationReport, options: TerminalOptions) {
        self.report = report
        self.options = options
    }

    var text: String {
        let parts = [
            verdict, sides, levels, counts, differences, ignoreRules, anomalies, queries, notCompared, notes,
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private var verdict: String {
        let head: String
        switch report.verdict {
        case .match: head = "IDENTICAL: no differences\n"
        case .mismatch:
            let ignored = report.ignoredCount > 0 ? ", and \(report.ignoredCount) that rules ignore" : ""
            head = "DIFFERENT: \(Self.differences(report.openDifferenceCount))\(ignored)\n"
        case .skewed: head = "NOT COMPARED: the stores stand at different tokens\n"
        case .ignored: head = "IGNORED: \(Self.differences(report.ignoredCount)), all of them covered by rules\n"
        case .error: head = "NOT FINISHED: a store could not be read to the end\n"
        case .timedOut: head = "TIMED OUT: the time limit came before the end\n"
        }
        return head + (report.reason.map { TerminalText.escaped($0) + "\n" } ?? "")
    }

    private static func differences(_ count: Int) -> String { count.counted("difference") }

    private var sides: String {
        var table = TextTable([
            .init("", canShrink: false), .init("store"), .init("token", alignment: .right), .init("role"),
        ])
        for (letter, side) in [("A", report.a), ("B", report.b)] {
            table.append([letter, side.name, side.information.token.description, side.information.role.rawValue])
        }
        return table.text(options)
    }

    private var levels: String {
        guard !report.levels.isEmpty else { return "" }
        var table = TextTable([
            .init("level"), .init("compared", alignment: .right), .init(""), .init("differences", alignment: .right),
            .init("time", alignment: .right),
        ])
        for level in report.levels {
            table.append([
                level.name, String(level.compared), level.unit, String(level.differences), level.seconds.secondsText,
            ])
        }
        return table.text(options)
    }

    private var counts: String {
        var table = TextTable([.init("entity"), .init("A", alignment: .right), .init("B", alignment: .right)])
        for entity in Set(report.a.counts.keys).union(report.b.counts.keys).sorted() {
            table.append([entity, String(report.a.counts[entity] ?? 0), String(report.b.counts[entity] ?? 0)])
        }
        return table.text(options)
    }

    private var differences: String {
        guard !report.differences.isEmpty else { return "" }
        var text = ""
        let kinds = Dictionary(grouping: report.differences, by: \.kind)
        for (kind, found) in kinds.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            text += "\(kind.rawValue): \(found.count)\n"
            let inOrder = found.filter { $0.ignoredBy == nil } + found.filter { $0.ignoredBy != nil }
            for difference in inOrder.prefix(Self.listedDifferences) {
                text += "  \(difference.differenceID)  \(TerminalText.escaped(difference.message))"
                if let a = difference.a, let b = difference.b, Self.sidesToldBesides.contains(kind) {
                    text += ": \(TerminalText.escaped(a)) in A, \(TerminalText.escaped(b)) in B"
                }
                if let name = difference.ignoredBy { text += " (ignored by \(TerminalText.escaped(name)))" }
                text += "\n"
            }
            if found.count > Self.listedDifferences {
                text += "  and \(found.count - Self.listedDifferences) more; --format json lists them\n"
            }
        }
        if report.differenceCount > report.differences.count {
            let unlisted = report.differenceCount - report.differences.count
            text += "\(unlisted) further differences are counted and not listed\n"
        }
        return text
    }

    private var ignoreRules: String {
        guard !report.ignoreRules.isEmpty else { return "" }
        var table = TextTable([
            .init("ignore rule"), .init("covers"), .init("expires", canShrink: false),
            .init("ignored", alignment: .right), .init("reason"),
        ])
        for use in report.ignoreRules {
            table.append([
                use.rule.name, use.rule.place, use.rule.expiryText, use.isExpired ? "expired" : String(use.differences),
                use.rule.reason,
            ])
        }
        return table.text(options)
    }

    private var anomalies: String {
        guard !report.anomalies.isEmpty else { return "" }
        var table = TextTable([
            .init("anomaly"), .init("entity"), .init("attribute"), .init("where"), .init("count", alignment: .right),
            .init("example", canShrink: false),
        ])
        for anomaly in report.anomalies {
            let presence =
                switch anomaly.presence {
                case .both: "both"
                case .onlyA: "only A"
                case .onlyB: "only B"
                }
            table.append([
                anomaly.kind, anomaly.entity ?? "", anomaly.attribute ?? "", presence, String(anomaly.count),
                anomaly.example.map { RecordReference.short($0) } ?? "",
            ])
        }
        return table.text(options)
    }

    private var queries: String {
        guard !report.queries.isEmpty else { return "" }
        var table = TextTable([
            .init("query"), .init("same"), .init("rows A", alignment: .right), .init("rows B", alignment: .right),
            .init("A", alignment: .right), .init("B", alignment: .right), .init("plan A", maximumWidth: 50),
            .init("plan B", maximumWidth: 50),
        ])
        for query in report.queries {
            table.append([
                query.name,
                query.matches ? "yes" : "NO",
                query.countA.map(String.init) ?? "error",
                query.countB.map(String.init) ?? "error",
                (query.millisecondsA / 1_000).secondsText,
                (query.millisecondsB / 1_000).secondsText,
                query.planA,
                query.planB,
            ])
        }
        return table.text(options)
    }

    private var notCompared: String {
        guard !report.notCompared.isEmpty else { return "" }
        return report.notCompared.map { "not compared: \(TerminalText.escaped($0))\n" }.joined()
    }

    private var notes: String { report.notes.map { "note: \(TerminalText.escaped($0))\n" }.joined() }
}
