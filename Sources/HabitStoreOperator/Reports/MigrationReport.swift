import Foundation
import HabitStore
import HabitStoreReports
import HabitStoreRollout

/// The result of a migration or of its dry run.
struct MigrationReport {
    private let address: StoreAddress
    private let outcome: MigrationOutcome
    private let rehearsal: MigrationRehearsal?

    init(_ address: StoreAddress, _ outcome: MigrationOutcome, _ rehearsal: MigrationRehearsal?) {
        (self.address, self.outcome, self.rehearsal) = (address, outcome, rehearsal)
    }

    var json: JSON {
        var members: [String: JSON] = [
            "store": .string(address.description),
            "version": .string(outcome.version.description),
            "isDryRun": .bool(rehearsal != nil),
            "backups": .array(outcome.backups.map { .string($0) }),
            "stages": .array(outcome.steps.map(Self.json)),
        ]
        if let rehearsal {
            members["isSound"] = .bool(rehearsal.isSound)
            members["entities"] = .array(rehearsal.entities.map(Self.json))
            members["findings"] = .array(
                rehearsal.findings.map { .object(["kind": .string($0.kind), "message": .string($0.message)]) }
            )
        }
        return .object(members)
    }

    private static func json(_ step: MigrationStep) -> JSON {
        .object([
            "from": .string(step.from.description), "to": .string(step.to.description),
            "isCustom": .bool(step.isCustom),
            "changes": .array(step.changes.map { .string($0) }),
            "drops": .array(
                step.drops.map { drop in
                    .object([
                        "entity": .string(drop.entity), "attribute": drop.attribute.map { .string($0) } ?? .null,
                        "records": .int(drop.records),
                    ])
                }
            ),
            "rewrittenRecords": .int(step.rewrittenRecords),
            "hookChanges": .int(step.hookChanges),
        ])
    }

    private static func json(_ entity: MigrationRehearsal.Entity) -> JSON {
        .object([
            "name": .string(entity.name), "before": entity.before.map { .int($0) } ?? .null,
            "after": entity.after.map { .int($0) } ?? .null, "unchanged": .int(entity.unchanged),
            "missing": .int(entity.missing), "added": .int(entity.added),
            "changed": .object(entity.changed.mapValues { .int($0) }),
        ])
    }

    var text: String {
        guard !outcome.steps.isEmpty else {
            return "\(address): nothing to do, the store is of schema version \(outcome.version)\n"
        }
        var text = ""
        for step in outcome.steps {
            text += "\(address): schema version \(step.from) \(rehearsal == nil ? "→" : "would become") \(step.to)\n"
            for change in step.changes { text += "  \(change)\n" }
            for drop in step.drops { text += "  \(rehearsal == nil ? "dropped" : "would drop"): \(drop)\n" }
            text += "  \(step.rewrittenRecords.counted("record")) rewritten"
            text += step.isCustom ? ", \(step.hookChanges) changes by the stage itself\n" : "\n"
        }
        for backup in outcome.backups { text += "the copy of the old store: \(backup)\n" }
        guard let rehearsal else { return text }
        var table = TextTable([
            .init("entity", canShrink: false), .init("before", alignment: .right), .init("after", alignment: .right),
            .init("unchanged", alignment: .right), .init("missing", alignment: .right),
            .init("added", alignment: .right),
            .init("changed"),
        ])
        for entity in rehearsal.entities {
            let changed = entity.changed.sorted { $0.key < $1.key }.map { "\($0.key) of \($0.value)" }
            table.append([
                entity.name, entity.before.map(String.init) ?? "–", entity.after.map(String.init) ?? "–",
                String(entity.unchanged), String(entity.missing), String(entity.added), changed.joined(separator: ", "),
            ])
        }
        text += "\n" + table.text(Terminal.options())
        for finding in rehearsal.findings { text += "\(finding.kind): \(finding.message)\n" }
        return text + verdict(rehearsal)
    }

    private func verdict(_ rehearsal: MigrationRehearsal) -> String {
        guard rehearsal.isSound else { return "NOT SOUND; nothing was changed\n" }
        let gone = rehearsal.entities.filter { $0.after == nil && $0.missing > 0 }.map(\.name)
        let exception = gone.isEmpty ? "" : " but those of \(gone.joined(separator: ", ")), which go"
        return "sound: no record is lost\(exception); nothing was changed\n"
    }
}
