import HabitStore
import HabitStoreReports
import ShadowVerifier

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
