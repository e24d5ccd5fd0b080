import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// `habitstore check A`.
struct CheckCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks a store against itself: structure, records, indexes, relationships, history, digests.",
        discussion: """
            Exit code 1 means damage, or records that this version's models cannot read, most likely because a newer \
            version of the app wrote them. Odd data, such as a reference that leads nowhere, is listed but is not \
            damage. Each transaction updates digests of the records; digestDeviates means that something else changed \
            the file. If the records are known to be right, --rebuild-digests recomputes the digests.
            """
    )

    @OptionGroup var output: OutputOptions

    @Argument(help: "The store: sqlite:PATH, lmdb:PATH, or a path.")
    var store: String

    @Flag(help: "Recompute the stored digests from the records before the check.")
    var rebuildDigests = false

    @Flag(help: "Show no progress.")
    var quiet = false

    func run() async throws {
        let address = try StoreAddress(argument: store)
        let store = try address.openAsWritten(rebuildDigests ? .readWrite : .readOnly, by: .known)
        defer { store.close() }
        if rebuildDigests { try store.rebuildDigests() }
        let bar = ProgressBar(isQuiet: quiet)
        defer { bar.clear() }
        let (role, total) = try store.replicaRead { replica in
            let total = try store.schema.entities.indices.reduce(0) { try $0 + replica.count(entity: $1) }
            return (try replica.information().role, total)
        }
        var findings = try store.check { bar.show("checking", $0, total) }
        // A damaged file cannot be compared with its digests.
        if !findings.contains(where: { $0.severity == .damage }) { findings += try store.checkDigests() }
        bar.clear()
        StandardError.noteIfUnfinished(role)
        let isDamaged = findings.contains { $0.severity == .damage }
        let isUnreadable = findings.contains { $0.severity == .unreadable }
        switch output.format {
        case .json:
            try JSON.write(
                JSON.object([
                    "store": .string(address.description),
                    "isDamaged": .bool(isDamaged),
                    "isUnreadable": .bool(isUnreadable),
                    "records": .int(total),
                    "findings": .array(findings.map(json)),
                ])
            )
        case .text: try Output.write(text(findings, total))
        }
        if isDamaged || isUnreadable { throw ExitCode(ExitStatus.different.rawValue) }
    }

    private func json(_ finding: StoreFinding) -> JSON {
        .object([
            "severity": .string(finding.severity.rawValue),
            "kind": .string(finding.kind),
            "entity": .optional(finding.entity),
            "id": .optional(finding.id),
            "attribute": .optional(finding.attribute),
            "message": .string(finding.message),
        ])
    }

    private func text(_ findings: [StoreFinding], _ total: Int) -> String {
        let damage = findings.filter { $0.severity == .damage }
        let unreadable = findings.filter { $0.severity == .unreadable }
        var text =
            if !damage.isEmpty {
                "DAMAGED: \(damage.count.counted("finding"))\n"
            } else if !unreadable.isEmpty {
                "UNREADABLE: \(unreadable.count) of \(total) records, by this version's models\n"
            } else {
                "sound: \(total.counted("record")) checked\n"
            }
        for (title, listed) in [("damage", damage), ("unreadable", unreadable)] where !listed.isEmpty {
            var table = TextTable([.init(title), .init("entity"), .init("id", canShrink: false), .init("what")])
            for finding in listed.prefix(100) {
                table.append([
                    finding.kind, finding.entity ?? "", finding.id.map { RecordReference.short($0) } ?? "",
                    finding.message,
                ])
            }
            text += "\n" + table.text(Terminal.options())
            if listed.count > 100 { text += "and \(listed.count - 100) more; --format json lists all\n" }
        }
        let anomalies = Dictionary(grouping: findings.filter { $0.severity == .anomaly }) {
            [$0.kind, $0.entity ?? "", $0.attribute ?? ""]
        }
        guard !anomalies.isEmpty else { return text }
        var table = TextTable([
            .init("anomaly"), .init("entity"), .init("attribute"), .init("count", alignment: .right),
            .init("example", canShrink: false),
        ])
        for (key, found) in anomalies.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            table.append(key + [String(found.count), found.first?.id.map { RecordReference.short($0) } ?? ""])
        }
        return text + "\n" + table.text(Terminal.options())
    }
}
