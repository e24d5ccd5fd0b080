import HabitStoreImport
import HabitStoreReports

/// The text output of a Core Data import.
struct ImportText {
    private let report: CoreDataImportReport
    private let unaccepted: [CoreDataImportReport.Shortfall]

    init(_ report: CoreDataImportReport, unaccepted: [CoreDataImportReport.Shortfall]) {
        self.report = report
        self.unaccepted = unaccepted
    }

    func text(_ options: TerminalOptions) -> String {
        var text = summary + "\n"
        var table = TextTable([
            .init("entity", canShrink: false), .init("becomes"), .init("records", alignment: .right),
            .init("new", alignment: .right), .init("changed", alignment: .right), .init("refused", alignment: .right),
        ])
        for entity in report.entities where report.mode != .followed || entity.inserted + entity.updated > 0 {
            table.append([
                entity.source, entity.target ?? "not brought over", String(entity.records), String(entity.inserted),
                String(entity.updated), String(entity.refused),
            ])
        }
        if report.mode != .followed || report.entities.contains(where: { $0.inserted + $0.updated > 0 }) {
            text += table.text(options)
        }
        for line in remarks { text += "- \(TerminalText.escaped(line))\n" }
        for shortfall in unaccepted { text += "LOSS \(shortfall.kind): \(TerminalText.escaped(shortfall.message))\n" }
        if !unaccepted.isEmpty { text += "exit code 1, unless --allow-loss names these\n" }
        return text
    }

    private var summary: String {
        let inserted = report.entities.reduce(0) { $0 + $1.inserted }
        let updated = report.entities.reduce(0) { $0 + $1.updated }
        switch report.mode {
        case .first:
            return
                "imported \(inserted.counted("record")) and \(report.transactions.counted("transaction")) of the file's history"
        case .followed:
            if report.transactions == 0 { return "nothing to do: the store has all of the file's history" }
            return
                "followed \(report.transactions.counted("transaction")): \(inserted.counted("record")) new, \(updated) changed, "
                + "\(report.deleted) deleted"
        case .compared:
            return inserted + updated == 0
                ? "nothing to do: no record of the file has changed"
                : "compared every record: \(inserted) new, \(updated) changed"
        }
    }

    private var remarks: [String] {
        var lines: [String] = []
        if report.mode == .first, report.transactions > 0 {
            lines.append(
                "\(report.changes) changes were carried with their authors and times, \(report.tombstones) of them deletions"
            )
        }
        if report.gone > 0 {
            lines.append(
                "\(report.gone) records are no longer in the file; nothing proves that they were deleted, so they were left"
            )
        }
        if report.normalizedTexts > 0 {
            lines.append("\(report.normalizedTexts) texts were in another Unicode form, and are in NFC now")
        }
        if report.replacedTexts > 0 {
            let texts =
                report.replacedTexts == 1
                ? "a text; its original is" : "\(report.replacedTexts) texts; their originals are"
            lines.append("NFC replaces characters of \(texts) in the attachment")
        }
        lines += remarks(report.losses) { "\($0.count) of \($1) not in the store: \($0.reason)" }
        lines += remarks(report.odd) { "\($0.count) of \($1) imported as stored: \($0.reason)" }
        for item in report.notCarried where !item.isUnknown {
            let name = [item.table, item.column].compactMap { $0 }.joined(separator: ".")
            lines.append("\(item.count) of \(name) not carried: \(item.reason)")
        }
        if let path = report.attachment { lines.append("what is not in the store is in \(path)") }
        if report.mode != .followed {
            lines += report.oddities.filter { odd in
                !unaccepted.contains { $0.kind == odd.kind && $0.message == odd.message }
            }.map(\.message)
        }
        return lines
    }

    /// The maximum number of properties listed: an entity may have hundreds.
    private static let mostNamed = 20

    private func remarks(
        _ losses: [CoreDataImportReport.Loss],
        _ words: (CoreDataImportReport.Loss, String) -> String
    ) -> [String] {
        let isLong = losses.count > Self.mostNamed + 1
        var lines = losses.prefix(isLong ? Self.mostNamed : losses.count).map { loss in
            words(loss, [loss.entity, loss.property].compactMap { $0 }.joined(separator: "."))
        }
        let rest = losses.dropFirst(lines.count)
        if !rest.isEmpty {
            let count = rest.reduce(0) { $0 + $1.count }
            lines.append("\(count) of \(rest.count) more properties, which --format json lists")
        }
        return lines
    }
}
