import Foundation
@_spi(Engines) import HabitStore

extension Comparison {
    /// Holds the records against the history that both stores have: the same record may be missing from both, or be left in both,
    /// and everything else would match. What only one of them lacks is a difference of the contents.
    mutating func replayHistory() throws {
        let floor = max(report.a.information.historyFloor, report.b.information.historyFloor)
        let replay = try HistoryReplay(transactions.a, after: floor)
        let isMigrated = try replay.tellsOfMigration || wasMigrated(transactions.a) || wasMigrated(transactions.b)
        let gone = isMigrated ? replay.entitiesBegunAnew : []
        for found in replay.missing where !gone.contains(found.entity) {
            guard try !isThere(found, transactions.b) else { continue }
            note(difference(found, "has stored it, and neither store has it"))
        }
        for found in replay.undeleted where try isThere(found, transactions.b) {
            note(difference(found, "has deleted it, and both stores have it"))
        }
        let entities = schema.entities.map(\.name)
        if !gone.isEmpty {
            let names = gone.sorted().map { entities[$0] }.joined(separator: ", ")
            report.notes.append(
                "history: its changes of \(names) are older than a migration that removed these records"
            )
        }
        let base = zip(entities, replay.base).filter { $1 > 0 }.map { "\($1) of \($0)" }
        guard !base.isEmpty else { return }
        report.notes.append(
            "history: it begins after token \(floor), when the stores already had records (\(base.joined(separator: ", "))); "
                + "these were compared with it as far as it covers them"
        )
    }

    private func isThere(_ found: HistoryReplay.Finding, _ transaction: any ReadTransaction) throws -> Bool {
        try transaction.withRow(entity: found.entity, id: found.id) { _ in }
    }

    private func difference(_ found: HistoryReplay.Finding, _ what: String) -> StoreDifference {
        let name = schema.entities[found.entity].name
        return StoreDifference(
            .history,
            "\(name) \(found.id.uuidString): history transaction \(found.token) \(what)",
            entity: name,
            id: found.id,
            subject: "\(found.token)"
        )
    }

    private func wasMigrated(_ transaction: any ReadTransaction) throws -> Bool {
        try (transaction as? any AuditableTransaction)?.wasMigrated() ?? false
    }
}

extension HistoryReplay {
    /// The entities that lack every record which the history mentions before a present one: a migration removed the entity, and a later one added
    /// another with its name.
    fileprivate var entitiesBegunAnew: Set<Int> {
        let last = Dictionary(grouping: missing, by: \.entity).compactMapValues { $0.map(\.token).max() }
        return Set(last.filter { entity, token in firstPresent[entity].map { $0 > token } ?? true }.keys)
    }
}
