import Foundation
@_spi(Engines) import HabitStore

extension CoreDataImporter {
    private static let batchSize = 1_000

    /// Compares every record of the source with the target's: inserts new ones, updates changed ones, and counts those missing from the
    /// source.
    func compareAll(_ progress: (Int, Int) throws -> Void) throws {
        report.mode = .compared
        let total = report.entities.reduce(0) { $0 + $1.records }
        var done = 0
        var seen: [Int: Set<UUID>] = [:]
        for entity in plan.entities {
            guard let maker = makers[entity.source.number] else { continue }
            var batch: [RecordMaker.Made] = []
            try file.enumerate(entity.source, maker.reader) { row in
                let made = try maker.make(row, identity: plan.identities[entity.source.root])
                try account(made, of: entity.source)
                seen[entity.target, default: []].insert(made.id)
                batch.append(made)
                done += 1
                if batch.count >= Self.batchSize {
                    try bring(batch, entity)
                    batch = []
                    try progress(done, total)
                }
                return true
            }
            try bring(batch, entity)
        }
        try countGone(seen)
        try notePosition()
        try progress(total, total)
    }

    /// Compares the records that store the owner of a relationship without an inverse: the history does not record a change of owner if the
    /// record itself is not saved.
    func compareOwned(behind last: Int64) throws {
        let owned = plan.entities.filter { entity in
            entity.fields.contains { if case .owner = $0 { true } else { false } }
        }
        let roots = Set(
            owned.flatMap(\.fields).compactMap { field -> String? in
                if case .owner(_, let root) = field { return root }
                return nil
            }
        )
        let owners = plan.entities.filter { roots.contains($0.source.root) }.map { String($0.source.number) }
        guard !owners.isEmpty,
            try file.connection.int(
                "SELECT 1 FROM ACHANGE WHERE ZTRANSACTIONID > \(last) AND ZENTITY IN (\(owners.joined(separator: ", "))) LIMIT 1"
            ) != nil
        else { return }
        for entity in owned {
            guard let maker = makers[entity.source.number] else { continue }
            var batch: [RecordMaker.Made] = []
            try file.enumerate(entity.source, maker.reader) { row in
                let made = try maker.make(row, identity: plan.identities[entity.source.root])
                // New records arrive with the transaction that records them.
                if try isThere(made.id, entity) { batch.append(made) }
                if batch.count >= Self.batchSize {
                    try bring(batch, entity)
                    batch = []
                }
                return true
            }
            try bring(batch, entity)
        }
    }

    private func isThere(_ id: UUID, _ entity: CoreDataPlan.Entity) throws -> Bool {
        try target.replicaRead { try $0.record(entity: entity.target, id: id) } != nil
    }

    private func bring(_ batch: [RecordMaker.Made], _ entity: CoreDataPlan.Entity) throws {
        let description = plan.schema.entities[entity.target]
        var changed: [(RecordMaker.Made, EncodedRecord, HistoryChange)] = []
        try target.replicaRead { replica in
            for made in batch {
                guard let record = made.record else { continue }
                guard let before = try replica.record(entity: entity.target, id: made.id) else {
                    changed.append((made, record, HistoryChange(entity: description.name, id: made.id, kind: .insert)))
                    continue
                }
                let names = try Self.differences(before, record, description)
                guard !names.isEmpty else { continue }
                let kind = HistoryChange.Kind.update(updatedAttributes: names)
                changed.append((made, record, HistoryChange(entity: description.name, id: made.id, kind: kind)))
            }
        }
        try attachment?.flush()
        guard !changed.isEmpty else { return }
        try target.replicate { transaction in
            for (made, record, _) in changed { try transaction.put(entity: entity.target, id: made.id, record) }
            try append(changed.map(\.2), to: transaction)
        }
        report.note(entity.source.name) { item in
            for change in changed { if case .insert = change.2.kind { item.inserted += 1 } else { item.updated += 1 } }
        }
        try options.didCommit?(nil)
    }

    private func countGone(_ seen: [Int: Set<UUID>]) throws {
        try target.replicaRead { replica in
            for entity in Set(plan.entities.map(\.target)).sorted() {
                let known = seen[entity] ?? []
                try replica.enumerate(entity: entity, after: nil) { id, _ in
                    if !known.contains(id) { report.gone += 1 }
                    return true
                }
            }
        }
    }

    /// Stores the target's position.
    private func notePosition() throws {
        guard let entity = plan.source else { return }
        let position = SourcePosition(file, identities: plan.identities)
        let layout = plan.schema.entities[entity].layout
        let record = try position.record(layout)
        try target.replicate { transaction in
            guard let before = try transaction.record(entity: entity, id: position.id), before != record else { return }
            try write(position, to: transaction)
            let names = try Self.differences(before, record, plan.schema.entities[entity])
            let kind = HistoryChange.Kind.update(updatedAttributes: names)
            try append(
                [HistoryChange(entity: DerivedSchema.sourceEntity, id: position.id, kind: kind)],
                to: transaction
            )
        }
        try options.didCommit?(position.transaction)
    }
}
