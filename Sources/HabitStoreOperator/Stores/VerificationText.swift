import ArgumentParser
import Foundation
import HabitStore
import JSONText
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
            table.append([letter, side.name, side.position.token, side.position.role])
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

/// `habitstore verify list`.
struct VerifyListCommand: ReportingCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list",
            abstract: "Lists the mismatches that `\(Tool.name) verify --record` has written."
        )
    }

    @OptionGroup var output: OutputOptions

    @Option(name: .customLong("from"), help: "The file of recorded mismatches.")
    var file: String

    func run() async throws {
        let list = MismatchList(recording: try MismatchRecording.load(path: file))
        try output.write(list.json) { list.text(Terminal.options()) }
    }
}

/// The recorded mismatches of a file.
struct MismatchList {
    let recording: MismatchRecording

    var json: JSONObject {
        [
            "formatVersion": 1, "token": recording.token.rawValue, "keepsValues": recording.keepsValues,
            "shapes": recording.shapes, "mismatches": recording.differences,
        ]
    }

    /// The mismatches as a table.
    func text(_ options: TerminalOptions) -> String {
        let values = recording.keepsValues ? "with values" : "without values"
        let mismatches = recording.differences
        let count = mismatches.count.counted("mismatch", plural: "mismatches")
        let head = "\(count) at token \(recording.token), \(values)\n"
        guard !mismatches.isEmpty else { return head }
        var table = TextTable([
            .init("id", canShrink: false), .init("kind"), .init("entity"), .init("record", canShrink: false),
            .init("attribute"), .init("query"), .init("ignored by"),
        ])
        for difference in mismatches {
            table.append([
                difference.differenceID, difference.kind.rawValue, difference.entity ?? "",
                difference.id.map { RecordReference.short($0) } ?? "", difference.attribute ?? "",
                difference.query ?? "", difference.ignoredBy ?? "",
            ])
        }
        return head + "\n" + table.text(options)
    }
}

/// `habitstore verify replay`.
struct VerifyReplayCommand: ReportingCommand {
    /// How many identifiers an error lists.
    private static let namedIdentifiers = 5

    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Repeats the comparison of a recorded mismatch, without the stores.",
        discussion: "Exit code 1 means that the difference is there, 2 that a rule ignored it."
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The mismatch's id, as the report or `\(Tool.name) verify list` shows it.")
    var id: String

    @Option(name: .customLong("from"), help: "The file of recorded mismatches.")
    var file: String

    func run() async throws {
        let recording = try MismatchRecording.load(path: file)
        guard let replay = try recording.replay(id.lowercased()) else { throw unknown(in: recording) }
        try output.write(replay) { ReplayText(replay, options: Terminal.options()).text }
        let status = replay.recorded.ignoredBy == nil ? ExitStatus.different : .ignored
        throw ExitCode(status.rawValue)
    }

    private func unknown(in recording: MismatchRecording) -> CommandFailure {
        let known = recording.differences.map(\.differenceID)
        guard !known.isEmpty else { return .usage("\(file): no mismatch is recorded in it") }
        let rest = known.count - Self.namedIdentifiers
        return .usage(
            "\(file): no mismatch \"\(id)\" is recorded in it; there are "
                + known.prefix(Self.namedIdentifiers).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
        )
    }
}

/// A replayed mismatch as text: the finding, then both sides.
struct ReplayText {
    private let replay: MismatchReplay
    private let options: TerminalOptions

    init(_ replay: MismatchReplay, options: TerminalOptions) {
        self.replay = replay
        self.options = options
    }

    var text: String {
        [verdict, sides, rows].filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private var verdict: String {
        let found = replay.finding ?? replay.recorded
        let head = replay.finding == nil ? "NOT FOUND AGAIN" : "DIFFERENT"
        var text = "\(head): \(found.differenceID), \(found.kind.rawValue)\n\(TerminalText.escaped(found.message))\n"
        if let name = found.ignoredBy { text += "ignored by the rule \(TerminalText.escaped(name))\n" }
        if let query = replay.query { text += TerminalText.escaped(words(query)) + "\n" }
        if let note = replay.note { text += TerminalText.escaped(note) + "\n" }
        return text
    }

    private func words(_ query: QueryFile.Query) -> String {
        let parts: [String?] = [
            "asked of \(query.entity)", query.filter.map { "filter \($0)" },
            query.sort.flatMap { $0.isEmpty ? nil : "sort " + $0.joined(separator: ", ") },
            query.limit.map { "limit \($0)" }, query.offset.map { "offset \($0)" },
        ]
        return parts.compactMap { $0 }.joined(separator: "; ")
    }

    private var sides: String {
        var table = TextTable([.init("", canShrink: false), .init("store"), .init("token", alignment: .right)])
        for (letter, side) in zip(["A", "B"], zip(replay.names, replay.tokens)) {
            table.append([letter, side.0, side.1.description])
        }
        return table.text(options)
    }

    private var rows: String {
        guard !replay.rows.isEmpty else { return "" }
        var table = TextTable([.init("", canShrink: false), .init("")] + replay.columns.map { .init($0) })
        for row in replay.rows {
            let mark = row.isEqual ? "" : (row.isMarked ? "≠ ◀" : "≠")
            table.append([mark, row.name, row.a ?? "–", row.b ?? "–"])
        }
        return table.text(options)
    }
}
